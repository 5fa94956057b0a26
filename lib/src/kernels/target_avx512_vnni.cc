#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/kernel_table.h"
#include "kernels/tables.h"
#include "kernels/target_region.h"

namespace orthant::kernels {
namespace {
bool supported() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("fma") != 0;
}
}  // namespace

ORTHANT_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,avx2,fma,f16c")
namespace avx512_vnni {

struct Products {
  static constexpr Arithmetic kArithmetic = Arithmetic::kTables;
  static __m512i dot(__m512i sum, __m512i levels, __m512i queries) { return _mm512_dpbusd_epi32(sum, levels, queries); }
  static __m512i dot_full(__m512i sum, __m512i levels, __m512i queries) { return dot(sum, levels, queries); }
  static __m512i add_table(__m512i sum, const std::byte* table, __m512i index) {
    const __m512i entries = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table));
    return _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), entries);
  }
};

/// vpermb reads six index bits: the higher bits of a byte need no mask, and codes that lie within the low six bits need
/// no shift but a table laid out for their place.
template <int kBits>
struct ByteLookup {
  static constexpr std::size_t kTables = kBits <= 6 ? 6 / kBits : 1 << (kBits - 6);
  __m512i tables[kTables];
  explicit ByteLookup(const std::uint8_t* entries) {
    for (std::size_t t = 0; t < kTables; ++t) {
      alignas(64) std::uint8_t part[64];
      for (std::size_t e = 0; e < 64; ++e) {
        part[e] = kBits <= 6 ? entries[e >> (kBits * t) & ((1U << kBits) - 1)] : entries[64 * t + e];
      }
      tables[t] = _mm512_load_si512(part);
    }
  }
  template <int kShift>
  __m512i at(__m512i x) const {
    if constexpr (kBits == 7) {
      return _mm512_permutex2var_epi8(tables[0], x, tables[1]);
    } else if constexpr (kBits == 8) {
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), _mm512_permutex2var_epi8(tables[0], x, tables[1]),
                                    _mm512_permutex2var_epi8(tables[2], x, tables[3]));
    } else if constexpr (kShift + kBits <= 6) {
      return _mm512_permutexvar_epi8(x, tables[kShift / kBits]);
    } else {
      return _mm512_permutexvar_epi8(_mm512_srli_epi32(x, kShift), tables[0]);
    }
  }
};
#include "kernels/vec_avx512-inl.h"
//
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"

}  // namespace avx512_vnni
ORTHANT_END_TARGET

constinit const KernelTable kAvx512Vnni{"avx512_vnni",
                                        Arithmetic::kTables,
                                        supported,
                                        avx512_vnni::prepare,
                                        avx512_vnni::find_scorer,
                                        avx512_vnni::load_halves,
                                        avx512_vnni::largest_of,
                                        avx512_vnni::exponentials,
                                        avx512_vnni::read_rows,
                                        avx512_vnni::sum_of_squares,
                                        avx512_vnni::count_thresholds};

}  // namespace orthant::kernels

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

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
  static constexpr std::size_t kDotsInFlight = 8;
  // Written in assembly: around the intrinsic GCC copies sums from register to register in every turn of a loop, and
  // keeps some in memory.
  static __m512i dot(__m512i sum, __m512i levels, __m512i queries) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(levels), "v"(queries));
    return sum;
  }
  static __m512i dot_full(__m512i sum, __m512i levels, __m512i queries) { return dot(sum, levels, queries); }
  static __m512i table_entries(const std::byte* table, __m512i index) {
    return _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table));
  }
  static __m512i add_bytes(__m512i a, __m512i b) { return _mm512_add_epi8(a, b); }
  static __m512i add_four(__m512i sum, __m512i x) { return _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), x); }
};

/// vpermb reads six index bits: the higher bits of a byte need no mask, and codes that lie within the low six bits need
/// no shift but a table laid out for their place.
template <int kBits>
struct ByteLookup {
  static constexpr std::size_t kTables = kBits <= 6 ? 6 / kBits : 1 << (kBits - 6);
  __m512i tables[kTables];
  explicit ByteLookup(const std::uint8_t* entries) {
    alignas(64) static constexpr std::array<std::uint8_t, 64> kPlaces = [] {
      std::array<std::uint8_t, 64> places{};
      for (std::size_t e = 0; e < 64; ++e) places[e] = static_cast<std::uint8_t>(e);
      return places;
    }();
    const __m512i first = _mm512_load_si512(entries);
    const __m512i places = _mm512_load_si512(kPlaces.data());
    for (std::size_t t = 0; t < kTables; ++t) {
      if constexpr (kBits <= 6) {
        // Entry e is that of code e >> kBits * t. The entries repeat, so higher bits, even of the next byte, do no
        // harm.
        const __m128i shift = _mm_cvtsi32_si128(kBits * static_cast<int>(t));
        tables[t] = _mm512_permutexvar_epi8(_mm512_srl_epi16(places, shift), first);
      } else {
        tables[t] = _mm512_load_si512(entries + 64 * t);
      }
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
#include "kernels/turn-inl.h"
#include "kernels/value-inl.h"
//
#include "kernels/encode-inl.h"
//
#include "kernels/table-inl.h"

}  // namespace avx512_vnni
ORTHANT_END_TARGET

constinit const KernelTable kAvx512Vnni = avx512_vnni::make_table("avx512_vnni", supported);

}  // namespace orthant::kernels

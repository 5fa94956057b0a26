#include <immintrin.h>

#include <algorithm>
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
         __builtin_cpu_supports("fma") != 0;
}
}  // namespace

ORTHANT_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
namespace avx512 {

/// As for AVX2: levels below 128.
struct Products {
  static constexpr Arithmetic kArithmetic = Arithmetic::kNarrow;
  static constexpr std::size_t kDotsInFlight = 2;
  static __m512i add_neighbours(__m512i sum, __m512i pairs) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  static __m512i dot(__m512i sum, __m512i levels, __m512i queries) {
    const __m512i pairs = _mm512_maddubs_epi16(levels, queries);
    return add_neighbours(sum, pairs);
  }
  static __m512i dot_pair(__m512i sum, __m512i levels, __m512i queries, __m512i more_levels, __m512i more_queries) {
    const __m512i pairs =
        _mm512_add_epi16(_mm512_maddubs_epi16(levels, queries), _mm512_maddubs_epi16(more_levels, more_queries));
    return add_neighbours(sum, pairs);
  }
  static __m512i dot_full(__m512i sum, __m512i levels, __m512i queries) {
    const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(levels, 1), _mm512_set1_epi8(0x7F));
    const __m512i lowest = _mm512_and_si512(levels, _mm512_set1_epi8(1));
    const __m512i pairs = _mm512_maddubs_epi16(upper, queries);
    return _mm512_add_epi32(dot(sum, lowest, queries), _mm512_madd_epi16(pairs, _mm512_set1_epi16(2)));
  }
};

template <int kBits>
struct ByteLookup {
  static constexpr std::size_t kTables = kBits <= 4 ? 1 : 1 << (kBits - 4);
  __m512i tables[kTables];
  explicit ByteLookup(const std::uint8_t* entries) {
    for (std::size_t t = 0; t < kTables; ++t) {
      tables[t] = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(entries + 16 * t)));
    }
  }
  template <int kShift>
  __m512i at(__m512i x) const {
    __m512i index = x;
    if constexpr (kShift > 0) index = _mm512_srli_epi32(x, kShift);
    index = _mm512_and_si512(index, _mm512_set1_epi8(static_cast<char>((1 << kBits) - 1)));
    if constexpr (kTables == 1) {
      return _mm512_shuffle_epi8(tables[0], index);
    } else {
      __m512i y = _mm512_setzero_si512();
      for (std::size_t t = 0; t < kTables; ++t) {
        // The high nibble becomes 0 for table t alone; adding 0x70 with saturation sets bit 7 for all others.
        const __m512i of_table = _mm512_adds_epu8(_mm512_xor_si512(index, _mm512_set1_epi8(static_cast<char>(16 * t))),
                                                  _mm512_set1_epi8(0x70));
        y = _mm512_or_si512(y, _mm512_shuffle_epi8(tables[t], of_table));
      }
      return y;
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

}  // namespace avx512
ORTHANT_END_TARGET

constinit const KernelTable kAvx512 = avx512::make_table("avx512", supported);

}  // namespace orthant::kernels

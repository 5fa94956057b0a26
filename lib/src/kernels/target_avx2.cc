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
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0;
}
}  // namespace

ORTHANT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {

/// vpmaddubsw adds two products in 16 bits: levels below 128, so that 2 * 127 * 127 fits.
struct Products {
  static constexpr Arithmetic kArithmetic = Arithmetic::kNarrow;
  static constexpr std::size_t kDotsInFlight = 1;
  static __m256i add_neighbours(__m256i sum, __m256i pairs) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static __m256i dot(__m256i sum, __m256i levels, __m256i queries) {
    const __m256i pairs = _mm256_maddubs_epi16(levels, queries);
    return add_neighbours(sum, pairs);
  }
  static __m256i dot_pair(__m256i sum, __m256i levels, __m256i queries, __m256i more_levels, __m256i more_queries) {
    const __m256i pairs =
        _mm256_add_epi16(_mm256_maddubs_epi16(levels, queries), _mm256_maddubs_epi16(more_levels, more_queries));
    return add_neighbours(sum, pairs);
  }
  /// level = 2 * (level >> 1) + (level & 1), both halves small enough.
  static __m256i dot_full(__m256i sum, __m256i levels, __m256i queries) {
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(levels, 1), _mm256_set1_epi8(0x7F));
    const __m256i lowest = _mm256_and_si256(levels, _mm256_set1_epi8(1));
    const __m256i pairs = _mm256_maddubs_epi16(upper, queries);
    return _mm256_add_epi32(dot(sum, lowest, queries), _mm256_madd_epi16(pairs, _mm256_set1_epi16(2)));
  }
};
#include "kernels/vec_avx2-inl.h"
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

}  // namespace avx2
ORTHANT_END_TARGET

constinit const KernelTable kAvx2 = avx2::make_table("avx2", supported);

}  // namespace orthant::kernels

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "kernels/cpu_features.h"
#include "kernels/kernel_table.h"
#include "kernels/tables.h"
#include "kernels/target_region.h"

namespace orthant::kernels {
namespace {
bool supported() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0 && cpu_has_avx_vnni();
}
}  // namespace

ORTHANT_BEGIN_TARGET("avx2,fma,f16c,avxvnni")
namespace avx_vnni {

struct Products {
  static constexpr Arithmetic kArithmetic = Arithmetic::kWide;
  static constexpr std::size_t kDotsInFlight = 8;
  static __m256i dot(__m256i sum, __m256i levels, __m256i queries) {
    return _mm256_dpbusd_avx_epi32(sum, levels, queries);
  }
  static __m256i dot_full(__m256i sum, __m256i levels, __m256i queries) { return dot(sum, levels, queries); }
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

}  // namespace avx_vnni
ORTHANT_END_TARGET

constinit const KernelTable kAvxVnni = avx_vnni::make_table("avx_vnni", supported);

}  // namespace orthant::kernels

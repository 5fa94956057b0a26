#include <arm_neon.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

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
/// NEON itself is part of AArch64; the dot product instructions are optional before Armv8.4.
bool supported() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return true;
#endif
}
}  // namespace

#if defined(__clang__)
ORTHANT_BEGIN_TARGET("dotprod")
#else
ORTHANT_BEGIN_TARGET("arch=armv8.2-a+dotprod")
#endif
namespace neon {
#include "kernels/vec_neon-inl.h"
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

}  // namespace neon
ORTHANT_END_TARGET

constinit const KernelTable kNeon = neon::make_table("neon", supported);

}  // namespace orthant::kernels

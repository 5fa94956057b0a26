#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace orthant::kernels {

bool cpu_has_avx_vnni() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  // Leaf 7, sub-leaf 1: bit 4 of EAX (Intel SDM, volume 2A, CPUID). Saved registers are AVX2's, asked for separately.
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1U) != 0;
#else
  return false;
#endif
}

}  // namespace orthant::kernels

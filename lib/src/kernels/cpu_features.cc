#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace orthant::kernels {
namespace {

// Read bandwidth reached at 1 to 4 bits with nothing and with 8 KiB fetched ahead (docs/performance.md): Zen 4 100 %
// and 58 to 75 %, no distance is better; Zen 5 60 to 82 % and 90 % or more.
bool fetches_streams_itself() {
#if defined(__x86_64__)
  constexpr unsigned kZen3And4 = 0x19;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  // Base family plus extended family (AMD64 Architecture Programmer's Manual, volume 3, CPUID Fn0000_0001_EAX).
  return (eax >> 8 & 0xFU) + (eax >> 20 & 0xFFU) == kZen3And4;
#else
  return false;
#endif
}

}  // namespace

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

std::size_t streaming_prefetch_bytes() {
  static const std::size_t bytes = fetches_streams_itself() ? 0 : 8192;
  return bytes;
}

}  // namespace orthant::kernels

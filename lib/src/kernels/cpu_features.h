#pragma once

#include <cstddef>

namespace orthant::kernels {

/// What the compiler's own __builtin_cpu_supports cannot be asked for on every supported compiler.
bool cpu_has_avx_vnni();

/// How many bytes ahead kernels should fetch rows that stream from memory; 0 where the CPU's own prefetcher does
/// better.
std::size_t streaming_prefetch_bytes();

}  // namespace orthant::kernels

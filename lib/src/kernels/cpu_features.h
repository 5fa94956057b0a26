#pragma once

#include <cstddef>
#include <string_view>

namespace orthant::kernels {

/// What the compiler's own __builtin_cpu_supports cannot be asked for on every supported compiler.
bool cpu_has_avx_vnni();

/// How many bytes ahead kernels fetch rows that stream from memory, 0 for none: what the environment variable
/// ORTHANT_PREFETCH says at the first call, else what is best on this CPU as far as measured; a SectionPlan goes
/// further where kernels are fast. Throws InvalidArgument (at every call) when the variable is not a number of bytes.
std::size_t streaming_prefetch_bytes();
/// A number of bytes from 0 to 2^20; throws InvalidArgument for anything else.
std::size_t prefetch_bytes_from(std::string_view text);

}  // namespace orthant::kernels

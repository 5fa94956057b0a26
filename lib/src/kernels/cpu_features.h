#pragma once

namespace orthant::kernels {

/// What the compiler's own __builtin_cpu_supports cannot be asked for on every supported compiler.
bool cpu_has_avx_vnni();

}  // namespace orthant::kernels

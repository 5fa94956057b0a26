#pragma once

namespace orthant::bench {

/// Runs Google Benchmark after `register_all`: OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are unset first (they pin an
/// older BLAS kernel), BLAS runs one thread, and the kernels in use are printed with the results. Repetitions
/// interleave unless the command line says otherwise.
int run(int argc, char** argv, void (*register_all)());

}  // namespace orthant::bench

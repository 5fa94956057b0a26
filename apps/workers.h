#pragma once

#include <memory>

#include "orthant/montecarlo/workers.h"

namespace orthant::apps {

/// The ranks of `mpirun -n N orthant ...`, each with `threads` threads, when the command was built with MPI and started
/// under it; else the threads of this process. Starts MPI when needed and ends it with the object: make one a process.
std::unique_ptr<montecarlo::Workers> make_workers(int threads);

}  // namespace orthant::apps

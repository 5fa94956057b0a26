#include "environment.h"

#include <benchmark/benchmark.h>
#include <cblas.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "orthant/cache/target.h"

namespace orthant::bench {

int run(int argc, char** argv, void (*register_all)()) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || std::getenv("OPENBLAS_L2_SIZE") != nullptr) {
    // The library reads them when it is loaded: start again without them.
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    execv("/proc/self/exe", argv);
    return 1;
  }
  openblas_set_num_threads(1);
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleave.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  benchmark::AddCustomContext("orthant_target", cache::chosen_target());
  benchmark::AddCustomContext("blas_kernel", openblas_get_corename());
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace orthant::bench

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace orthant::montecarlo {

/// Who does the work: threads of this process here; the command adds MPI ranks (apps/mpi_workers.h), which run the same
/// program and all end up with the same results.
class Workers {
 public:
  virtual ~Workers() = default;
  /// results[i * width .. (i + 1) * width) = what task(i) wrote, for every i < n, on every rank.
  /// results.size() == n * width. An exception of a task is rethrown on every rank as Error.
  virtual void map(std::size_t n, std::size_t width,
                   const std::function<void(std::size_t i, std::span<double> out)>& task,
                   std::span<double> results) = 0;
  /// True where files are written and results are printed.
  virtual bool root() const = 0;
  /// The text of the root, on every rank.
  virtual std::string broadcast(const std::string& text) = 0;
};

/// One process; threads as in parallel_for.
std::unique_ptr<Workers> thread_workers(int threads);

}  // namespace orthant::montecarlo

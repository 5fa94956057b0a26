#include "orthant/montecarlo/workers.h"

#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"

namespace orthant::montecarlo {
namespace {

class ThreadWorkers final : public Workers {
 public:
  explicit ThreadWorkers(int threads) : threads_(threads) {}

  void map(std::size_t n, std::size_t width, const std::function<void(std::size_t, std::span<double>)>& task,
           std::span<double> results) override {
    require_size("Workers::map", "results", results.size(), n * width);
    parallel_for(n, threads_, [&](std::size_t i) { task(i, results.subspan(i * width, width)); });
  }
  bool root() const override { return true; }
  std::string broadcast(const std::string& text) override { return text; }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<Workers> thread_workers(int threads) { return std::make_unique<ThreadWorkers>(threads); }

}  // namespace orthant::montecarlo

#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace orthant::apps {

/// "study: 12800 trials, 5400/s, 3 of 7 decided, 12 s left" on one line of a terminal, wiped when the object dies.
class TrialProgress {
 public:
  /// budget: trials of each study, 0 when the run goes on until it is decided; then no time left is shown.
  TrialProgress(std::ostream& err, std::uint64_t budget) : err_(err), budget_(budget) {}
  ~TrialProgress();
  TrialProgress(const TrialProgress&) = delete;
  TrialProgress& operator=(const TrialProgress&) = delete;

  void show(const std::string& study, std::uint64_t trials, std::size_t decided, std::size_t claims);

 private:
  std::ostream& err_;
  std::uint64_t budget_;
  std::string study_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t first_ = 0;
};

}  // namespace orthant::apps

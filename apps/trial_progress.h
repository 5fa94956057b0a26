#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "orthant/validation/verify.h"

namespace orthant::apps {

/// "3/41 prod.gaussian.b2: 12800 trials, 5400/s, 3 of 7 decided, about 12 s left, at most 180 s" on one line of a
/// terminal, wiped when the object dies. Times are those of the study; a fixed number of trials says "12 s left".
class TrialProgress {
 public:
  explicit TrialProgress(std::ostream& err) : err_(err) {}
  ~TrialProgress();
  TrialProgress(const TrialProgress&) = delete;
  TrialProgress& operator=(const TrialProgress&) = delete;

  void show(const validation::VerifyProgress& now);

 private:
  std::ostream& err_;
  std::string study_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t first_ = 0;
};

/// ", about 12 s left, at most 180 s": the time left at `rate` trials a second; nothing when all is decided or the rate
/// is not known yet.
std::string time_left(const validation::VerifyProgress& now, double rate);

}  // namespace orthant::apps

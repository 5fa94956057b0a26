#include "trial_progress.h"

#include <fmt/format.h>

#include <ostream>

namespace orthant::apps {

TrialProgress::~TrialProgress() {
  if (!study_.empty()) err_ << "\r\x1b[K" << std::flush;
}

void TrialProgress::show(const std::string& study, std::uint64_t trials, std::size_t decided, std::size_t claims) {
  const auto now = std::chrono::steady_clock::now();
  if (study != study_) {
    study_ = study;
    start_ = now;
    first_ = trials;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(trials - first_) / seconds : 0;
  err_ << "\r\x1b[K" << fmt::format("{}: {} trials, {:.0f}/s, {} of {} decided", study, trials, rate, decided, claims);
  if (budget_ > 0 && rate > 0) err_ << fmt::format(", {:.0f} s left", static_cast<double>(budget_ - trials) / rate);
  err_ << std::flush;
}

}  // namespace orthant::apps

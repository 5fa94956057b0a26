#include "trial_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace orthant::apps {

TrialProgress::~TrialProgress() {
  if (!study_.empty()) err_ << "\r\x1b[K" << std::flush;
}

std::string time_left(const validation::VerifyProgress& now, double rate) {
  if (!(rate > 0) || (now.decided == now.claims && now.expected != now.most)) return {};
  const auto seconds = [&](std::uint64_t trials) {
    return fmt::format("{:.0f} s", static_cast<double>(trials - std::min(trials, now.trials)) / rate);
  };
  if (now.expected == now.most) return ", " + seconds(now.most) + " left";
  const std::string most = "at most " + seconds(now.most);
  return now.expected ? ", about " + seconds(*now.expected) + " left, " + most : ", " + most + " left";
}

void TrialProgress::show(const validation::VerifyProgress& now) {
  const auto time = std::chrono::steady_clock::now();
  if (now.study != study_) {
    study_ = now.study;
    start_ = time;
    first_ = now.trials;
  }
  const double seconds = std::chrono::duration<double>(time - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(now.trials - first_) / seconds : 0;
  err_ << "\r\x1b[K"
       << fmt::format("{}/{} {}: {} trials, {:.0f}/s, {} of {} decided{}", now.index + 1, now.studies, now.study,
                      now.trials, rate, now.decided, now.claims, time_left(now, rate))
       << std::flush;
}

}  // namespace orthant::apps

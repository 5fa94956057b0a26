#include "progress.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

namespace orthant::apps {

Progress::Progress(Streams streams, std::string what) : streams_(streams), what_(std::move(what)) {}

Progress::~Progress() {
  if (percent_ >= 0) streams_.err << "\r\033[K" << std::flush;
}

void Progress::show(std::size_t done, std::size_t total) {
  const int percent = static_cast<int>(100 * done / total);
  if (!streams_.err_is_terminal || percent == percent_) return;
  percent_ = percent;
  constexpr int kWidth = 40;
  const std::string bar(static_cast<std::size_t>(kWidth * percent / 100), '=');
  streams_.err << fmt::format("\r{} [{:<{}}] {:3}%", what_, bar, kWidth, percent) << std::flush;
}

}  // namespace orthant::apps

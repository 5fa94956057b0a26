#pragma once

#include <cstddef>
#include <string>

#include "command.h"

namespace orthant::apps {

/// One line on err, redrawn in place while work goes on and wiped when the object dies; nothing at all unless err is
/// a terminal.
class Progress {
 public:
  Progress(Streams streams, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Not from two threads at once.
  void show(std::size_t done, std::size_t total);

 private:
  Streams streams_;
  std::string what_;
  int percent_ = -1;
};

}  // namespace orthant::apps

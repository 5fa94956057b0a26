#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "command.h"

namespace {

/// True when standard output is a pipe whose reader has gone, as in "orthant kv DUMP | head -1": not a failure.
bool reader_has_gone() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that stops early must not keep the files asked for from being written.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int code = orthant::apps::run_command(arguments, {std::cout, std::cerr, isatty(STDERR_FILENO) != 0});
  std::cout.flush();
  if (std::cout || reader_has_gone()) return code;
  std::cerr << "orthant: cannot write standard output\n";
  return orthant::apps::kBadInput;
}

#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace orthant::apps {

/// Exit codes of every sub-command.
enum ExitCode : int {
  kDone = 0,       ///< done, or every claim holds
  kViolated = 1,   ///< a claim is violated, an audit found a fault
  kUsage = 2,      ///< wrong usage
  kBadInput = 3,   ///< a file does not hold what it should
  kUndecided = 4,  ///< the verdict is not safe yet
};

/// Where a sub-command writes: results to out, messages and progress to err.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  ///< progress bars are drawn only then
};

/// The command line as typed, for reports: "orthant codebook --dim 128 --bits 4".
struct Invocation {
  std::vector<std::string> arguments;
  std::string text() const;
};

using Run = std::function<int(Streams, const Invocation&)>;

/// Each adds its sub-command to the app and returns what runs it after parsing. One file per sub-command.
Run add_audit(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_bounds(CLI::App& app);
Run add_calibrate(CLI::App& app);
Run add_codebook(CLI::App& app);
Run add_info(CLI::App& app);
Run add_kv(CLI::App& app);
Run add_verify(CLI::App& app);

/// Parses arguments (without the program's name), runs the chosen sub-command, turns exceptions into messages on err
/// and an ExitCode. This is main() without the process, so that tests can call it.
int run_command(const std::vector<std::string>& arguments, Streams streams);

}  // namespace orthant::apps

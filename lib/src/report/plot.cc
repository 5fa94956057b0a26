#include "orthant/report/plot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"

extern char** environ;

namespace orthant::report {
namespace {

/// A gnuplot string: single quotes are doubled, line breaks would end the command.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + '\'';
}

/// A directory of its own for one run of gnuplot, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "orthant-plot-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("cannot create " + pattern + ": " + std::generic_category().message(errno));
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs gnuplot on a program file. Returns its exit status; 127, as a shell does, when it is not installed.
int run_gnuplot(const std::string& program, const std::string& out, const std::string& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string name = "gnuplot";
  std::string argument = program;
  std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error == ENOENT ? 127 : 126;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

}  // namespace

std::string to_gnuplot(const Plot& plot) {
  std::string text = "set terminal svg noenhanced size 900,600 font 'sans-serif,14' background rgb 'white'\n";
  text += "set encoding utf8\nset title " + quoted(plot.title) + "\nset xlabel " + quoted(plot.x_label) +
          "\nset ylabel " + quoted(plot.y_label) + "\nset grid\nset key outside right top\n";
  if (plot.log_y) text += "set logscale y\nset format y '%g'\n";
  std::string data;
  std::string command;
  for (const Series& series : plot.series) {
    std::string block;
    for (const auto& [x, y] : series.points) {
      const bool drawn = std::isfinite(x) && std::isfinite(y) && (!plot.log_y || y > 0);
      if (drawn) block += fmt::format("{} {}\n", x, y);
    }
    if (block.empty()) continue;
    const std::string name = fmt::format("$series{}", std::count(data.begin(), data.end(), '$'));
    data += name + " << EOD\n" + block + "EOD\n";
    command += (command.empty() ? "plot " : ", ") + name + " using 1:2 with " +
               (series.line ? "linespoints" : "points") + " pointtype 7 title " + quoted(series.title);
  }
  if (command.empty()) throw InvalidArgument("plot '" + plot.title + "': no point to draw");
  return text + data + command + '\n';
}

std::optional<std::string> to_svg(const Plot& plot) {
  const ScratchFolder scratch;
  const std::string program = scratch.file("plot.gp");
  const std::string out = scratch.file("plot.svg");
  const std::string err = scratch.file("messages");
  write_file(program, to_gnuplot(plot));
  const int status = run_gnuplot(program, out, err);
  if (status == 127) return std::nullopt;
  if (status != 0) throw Error("gnuplot failed: " + contents(err));
  return contents(out);
}

}  // namespace orthant::report

#include "orthant/report/plot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <system_error>

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

/// Chosen: hues far apart, none lighter than 55 % or darker than 25 %.
constexpr std::array kColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e8710a",
                                 "#0f9aa8", "#8c564b", "#d64fa6", "#6f7d00", "#5b6ee1"};
constexpr std::array kMarks = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};

/// How the series with that number among the ones that are no limits looks.
std::string style(const Series& series, std::size_t number) {
  if (series.limit) return "lines linecolor rgb '#000000' linewidth 2 dashtype 2";
  const std::string mark = fmt::format(" linecolor rgb '{}' pointtype {}", kColours[number % kColours.size()],
                                       kMarks[(number + number / kColours.size()) % kMarks.size()]);
  return (series.line ? "linespoints" : "points") + mark + (series.line ? " linewidth 1.5" : "");
}

/// A file without a name, gone with the process that has it open: a plot that is interrupted leaves nothing behind.
class ScratchFile {
 public:
  ScratchFile() : file_(std::tmpfile()) {
    if (!file_) throw Error("cannot create a temporary file: " + std::generic_category().message(errno));
  }
  int descriptor() const { return fileno(file_.get()); }
  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0) {
      throw Error("cannot write a temporary file: " + std::generic_category().message(errno));
    }
    std::rewind(file_.get());
  }
  std::string contents() {
    std::rewind(file_.get());
    std::string text;
    std::array<char, 4096> block;
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file_.get()))
      text.append(block.data(), got);
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// Runs gnuplot from one file to two others. Returns its exit status; 127, as a shell does, when it is not installed.
int run_gnuplot(const ScratchFile& program, const ScratchFile& out, const ScratchFile& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, program.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  std::string name = "gnuplot";
  std::array<char*, 2> arguments = {name.data(), nullptr};
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
  // height 1: without half a line of its own above, the key begins where the label of the x axis has its descenders.
  std::string text = "set terminal svg noenhanced size 900,760 font 'sans-serif,15' background rgb 'white'\n";
  text += "set encoding utf8\nset title " + quoted(plot.title) + "\nset xlabel " + quoted(plot.x_label) +
          "\nset ylabel " + quoted(plot.y_label) +
          "\nset grid\nset key below horizontal Left reverse maxcols 3 samplen 2 height 1\n";
  if (plot.log_y) text += "set logscale y\nset format y '%g'\n";
  std::string data;
  std::string command;
  std::size_t drawn_series = 0;
  for (const Series& series : plot.series) {
    std::string block;
    for (const auto& [x, y] : series.points) {
      const bool drawn = std::isfinite(x) && std::isfinite(y) && (!plot.log_y || y > 0);
      if (drawn) block += fmt::format("{} {}\n", x, y);
    }
    if (block.empty()) continue;
    const std::string name = fmt::format("$series{}", std::count(data.begin(), data.end(), '$'));
    data += name + " << EOD\n" + block + "EOD\n";
    command += (command.empty() ? "plot " : ", ") + name + " using 1:2 with " + style(series, drawn_series) +
               " title " + quoted(series.title);
    drawn_series += series.limit ? 0U : 1U;
  }
  if (command.empty()) throw InvalidArgument("plot '" + plot.title + "': no point to draw");
  return text + data + command + '\n';
}

std::optional<std::string> to_svg(const Plot& plot) {
  ScratchFile program;
  ScratchFile out;
  ScratchFile err;
  program.write(to_gnuplot(plot));
  const int status = run_gnuplot(program, out, err);
  if (status == 127) return std::nullopt;
  if (status != 0) throw Error("gnuplot failed: " + err.contents());
  return out.contents();
}

}  // namespace orthant::report

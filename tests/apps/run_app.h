#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "command.h"

namespace orthant::apps {

/// What a user sees of one run of the command.
struct Outcome {
  int code;
  std::string out;
  std::string err;
};

/// orthant <arguments>, with err no terminal.
inline Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command(arguments, {out, err});
  return {code, out.str(), err.str()};
}

/// The bytes of a file; none when there is no file.
inline std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace orthant::apps

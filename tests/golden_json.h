#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "test_paths.h"

/// tests/golden/<name>, parsed. A missing file is an error, not an empty test.
inline nlohmann::json golden_json(const std::string& name) {
  std::ifstream file(golden_dir() / name);
  if (!file) throw std::runtime_error("no golden file " + name);
  return nlohmann::json::parse(file);
}

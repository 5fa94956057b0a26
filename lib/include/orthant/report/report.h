#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "orthant/report/table.h"

namespace orthant::report {

/// A file that a result depends on.
struct Input {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;  ///< 64 hexadecimal digits
};

/// Reads the whole file once. Throws InvalidInput, naming the path, when it cannot be read.
Input describe_input(const std::filesystem::path& path);

/// What it takes to make a result again.
struct Provenance {
  std::string kind;     ///< what the rows are about: "kv", "codebook", "bounds", ...
  std::string command;  ///< the command line; what cannot change a result (the number of threads) is left out
  std::uint64_t seed = 0;
  std::string target;                                   ///< SIMD target in use
  std::vector<std::pair<std::string, Value>> settings;  ///< every option as resolved, defaults included
  std::vector<Input> inputs;
};

/// The processor's own name for itself, or "unknown".
std::string processor_name();

/// One JSON object: schema ("orthant-report-1"), kind, command, seed, library (version), cpu, target, settings, inputs,
/// columns (name and type of each), rows (flat objects, every column in each, null where it does not apply) and, for
/// each further table, a member of its name with rows alike. Same arguments, same machine: same bytes.
/// Text that is not UTF-8 (a file name) is written with U+FFFD in place of what is not.
std::string to_json(const Provenance& provenance, const Table& rows,
                    const std::vector<std::pair<std::string, Table>>& further = {});

}  // namespace orthant::report

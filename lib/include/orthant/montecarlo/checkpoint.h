#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orthant/core/moments.h"

namespace orthant::montecarlo {

/// Where one experiment stands after a whole number of blocks.
struct Progress {
  std::uint64_t blocks = 0;
  std::vector<Moments> channels;
  std::vector<std::vector<double>> sequences;  ///< ConfidenceSequence::state() of each channel
};

/// The state of a run between blocks: written after each block to a temporary name and renamed, so that a process
/// killed at any moment loses the block it was in and nothing else.
struct Checkpoint {
  std::string key;  ///< what the run depends on: seed, dimensions, claims, error probability, version
  std::map<std::string, Progress> experiments;
};

/// JSON; numbers survive unchanged. Throws InvalidArgument when the file cannot be created, Error when it cannot be
/// written.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Throws InvalidInput, naming the file, when it is no checkpoint (an empty file is none) or belongs to a run with
/// another key. A file that does not exist is an empty checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& path, const std::string& key);
/// The same from text, for fuzzing and for ranks that cannot see the file; `name` stands for the path in messages.
Checkpoint parse_checkpoint(const std::string& text, const std::string& key, const std::string& name = "checkpoint");
std::string to_json(const Checkpoint& checkpoint);

}  // namespace orthant::montecarlo

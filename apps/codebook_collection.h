#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command.h"

namespace orthant::apps {

/// Proves codebook files again: those named, and every *.json in a folder named, whose index must match them.
/// kDone when all are proved, kViolated when a number is wrong, kBadInput when a file is none.
int check_codebooks(const std::vector<std::string>& paths, int threads, Streams streams);

/// Writes the published collection into the folder: the sphere for the dimensions people use and the Gaussian, 1 to 8
/// bits, each with its certificate, and index.csv. The same bytes every time.
int write_collection(const std::filesystem::path& folder, int threads, Streams streams);

}  // namespace orthant::apps

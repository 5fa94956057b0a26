#pragma once

#include <filesystem>

/// tests/golden: values from an independent source.
std::filesystem::path golden_dir();
/// data: what the project ships.
std::filesystem::path data_dir();
/// codebooks: the published collection.
std::filesystem::path codebooks_dir();

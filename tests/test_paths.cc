#include "test_paths.h"

std::filesystem::path golden_dir() { return ORTHANT_SOURCE_DIR "/tests/golden"; }
std::filesystem::path data_dir() { return ORTHANT_SOURCE_DIR "/data"; }
std::filesystem::path codebooks_dir() { return ORTHANT_SOURCE_DIR "/codebooks"; }

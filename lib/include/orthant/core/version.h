#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orthant {

/// "major.minor.patch" of the library in use.
std::string_view version();

/// Name and version of each library that this one was built with; for OpenBLAS, what it says of itself, with the
/// kernels it chose for this processor: float sums may differ between them.
std::vector<std::pair<std::string, std::string>> dependency_versions();

}  // namespace orthant

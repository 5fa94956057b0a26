#pragma once

#include <string_view>

namespace orthant {

/// "major.minor.patch" of the library in use.
std::string_view version();

}  // namespace orthant

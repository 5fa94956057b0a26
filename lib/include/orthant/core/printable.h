#pragma once

#include <string>
#include <string_view>

namespace orthant {

/// The text on one line that a terminal takes as plain text: control characters (below U+0020, U+007F to U+009F) and
/// bytes that are no UTF-8 become \n, \t or \xNN, byte by byte; everything else stays as it is. For names and metadata
/// that come from files; the messages of error.h have gone through it.
std::string printable(std::string_view text);

}  // namespace orthant

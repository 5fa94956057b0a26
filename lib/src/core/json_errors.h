#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orthant {

/// "line L, column C" of the byte at `offset`, both from 1; "its end" from the text's end on.
std::string place_in_text(std::string_view text, std::size_t offset);

/// A JSON library's message without its own name and number: "[json.exception.out_of_range.403] key 'size' not found"
/// is told as "key 'size' not found".
std::string json_reason(std::string_view what);

}  // namespace orthant

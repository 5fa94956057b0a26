#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orthant/quantizer/method.h"

namespace orthant::quantizer {

/// The canonical spelling of text when it matches the rule's pattern and its numbers are in range, else nothing.
std::optional<std::string> match_value(const ValueRule& rule, std::string_view text);

/// "haar|hadamard:N|none, N from 1 to 16": the pattern and, where it has numbers, their range.
std::string expected_values(const ValueRule& rule);

}  // namespace orthant::quantizer

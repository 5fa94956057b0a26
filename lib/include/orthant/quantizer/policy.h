#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orthant/quantizer/method.h"

namespace orthant::quantizer {

/// What is done to a cache:  "K=turbo-mse:4 V=uniform:4,group=64".
/// A part left out leaves that side of the cache as it is.
struct Policy {
  std::optional<Method> keys;
  std::optional<Method> values;

  friend bool operator==(const Policy&, const Policy&) = default;
};

/// Parts in any order, separated by blanks, each at most once; an empty text is the policy that changes nothing.
/// Throws InvalidArgument as parse_method does, and for any other part.
Policy parse_policy(std::string_view text);

/// Parts in the order K, V, each in its shortest form; parse_policy(to_string(p)) == p.
std::string to_string(const Policy& policy);

}  // namespace orthant::quantizer

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orthant/quantizer/method.h"

namespace orthant::quantizer {

/// What is done to a cache:  "K=turbo-mse:4 V=uniform:4,group=64 E=snapkv:1024".
/// Keys and values by a quantizer, tokens by an eviction rule; a part left out leaves the cache as it is.
struct Policy {
  std::optional<Method> keys;
  std::optional<Method> values;
  std::optional<Method> eviction;

  friend bool operator==(const Policy&, const Policy&) = default;
};

/// Parts in any order, separated by blanks, each at most once; an empty text is the policy that changes nothing.
/// Throws InvalidArgument as parse_method does, and for a method in the wrong place (K=window:4, E=turbo-mse:4).
Policy parse_policy(std::string_view text);

/// Parts in the order K, V, E, each in its shortest form; parse_policy(to_string(p)) == p.
std::string to_string(const Policy& policy);

}  // namespace orthant::quantizer

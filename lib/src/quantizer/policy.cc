#include "orthant/quantizer/policy.h"

#include "orthant/core/error.h"

namespace orthant::quantizer {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

void set_part(std::optional<Method>& part, std::string_view text) {
  if (part) throw_invalid_argument("policy", "part " + std::string(text.substr(0, 2)), "it twice", "it once");
  part = parse_method(text.substr(2));
}

}  // namespace

Policy parse_policy(std::string_view text) {
  Policy policy;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view part = text.substr(at, end - at);
    if (part.starts_with("K=")) {
      set_part(policy.keys, part);
    } else if (part.starts_with("V=")) {
      set_part(policy.values, part);
    } else {
      throw_invalid_argument("policy", "part", '"' + std::string(part) + '"', "K=method or V=method");
    }
    at = text.find_first_not_of(kBlanks, end);
  }
  return policy;
}

std::string to_string(const Policy& policy) {
  std::string out;
  const auto append = [&out](std::string_view name, const std::optional<Method>& method) {
    if (method) out.append(out.empty() ? "" : " ").append(name).append(method->to_string());
  };
  append("K=", policy.keys);
  append("V=", policy.values);
  return out;
}

}  // namespace orthant::quantizer

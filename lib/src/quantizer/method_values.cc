#include "quantizer/method_values.h"

#include <string>

#include "orthant/core/error.h"

namespace orthant::quantizer {

void refuse_method(const Method& method, std::string_view what, std::string_view got, std::string_view expected) {
  throw_invalid_argument("method \"" + method.to_string() + '"', what, got, expected);
}

std::size_t size_value(const Method& method, std::string_view name) {
  return static_cast<std::size_t>(method.integer(name));
}

bool flag_value(const Method& method, std::string_view name) { return method.integer(name) == 1; }

FloatType float_value(const Method& method, std::string_view name) {
  const std::string& text = method.text(name);
  return text == "f32" ? FloatType::kF32 : text == "bf16" ? FloatType::kBf16 : FloatType::kF16;
}

UniformGrid grid_of(const Method& method) {
  const std::string& meta = method.text("meta");
  return {static_cast<int>(method.integer("bits")), method.has("sym") && flag_value(method, "sym"),
          meta == "f32"    ? MetaType::kF32
          : meta == "bf16" ? MetaType::kBf16
                           : MetaType::kF16};
}

}  // namespace orthant::quantizer

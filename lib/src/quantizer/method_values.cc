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

ScaleFormat scale_format(const Method& method) {
  return method.text("norm") == "f32" ? ScaleFormat::kFloat : ScaleFormat::kHalf;
}

std::shared_ptr<const Sketch> sketch_of(const Method& method, std::size_t dim, std::size_t rows,
                                        const QuantizerContext& context) {
  const std::string& name = method.text("sketch");
  const SketchKind kind = name == "gaussian"     ? SketchKind::kGaussian
                          : name == "orthogonal" ? SketchKind::kOrthogonal
                                                 : SketchKind::kHadamard;
  return std::make_shared<const Sketch>(kind, dim, rows, context.seed, context.index);
}

}  // namespace orthant::quantizer

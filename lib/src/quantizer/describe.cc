#include "quantizer/describe.h"

namespace orthant::quantizer {

std::string common_options(ScaleFormat format, const transform::Transform& rotation) {
  std::string text;
  if (format != ScaleFormat::kHalf) text.append(",norm=").append(name(format));
  if (rotation.describe() != "haar") text.append(",rotation=").append(rotation.describe());
  return text;
}

}  // namespace orthant::quantizer

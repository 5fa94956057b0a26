#pragma once

#include <string>

#include "orthant/quantizer/scale.h"
#include "orthant/transform/transform.h"

namespace orthant::quantizer {

/// ",norm=..." and ",rotation=...", each left out where it is the grammar's default (f16, haar).
std::string common_options(ScaleFormat format, const transform::Transform& rotation);

}  // namespace orthant::quantizer

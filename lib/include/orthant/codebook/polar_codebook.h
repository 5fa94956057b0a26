#pragma once

#include "orthant/codebook/codebook.h"

namespace orthant::codebook {

/// The optimal codebook of density::PolarAngle(level): an angle of PolarQuant's level 2 to 10, less pi/4.
/// Throws InvalidArgument out of range, and for bits outside 0 to 10.
Codebook polar_angle_codebook(int level, int bits);

}  // namespace orthant::codebook

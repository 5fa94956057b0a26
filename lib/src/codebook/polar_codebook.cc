#include "orthant/codebook/polar_codebook.h"

#include "orthant/codebook/lloyd_max.h"
#include "orthant/density/polar_angle.h"

namespace orthant::codebook {

Codebook polar_angle_codebook(int level, int bits) {
  return lloyd_max(density::PolarAngle(level), {.bits = bits}).codebook;
}

}  // namespace orthant::codebook

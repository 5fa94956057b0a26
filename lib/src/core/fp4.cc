#include "orthant/core/fp4.h"

#include <cmath>

namespace orthant {

std::uint8_t float_to_e2m1(float x) {
  const float m = std::fabs(x);
  // Midpoints between neighbours; the one below an even code rounds up to it, the one above rounds down.
  const int code = (m > 0.25F) + (m >= 0.75F) + (m > 1.25F) + (m >= 1.75F) + (m > 2.5F) + (m >= 3.5F) + (m > 5.0F);
  return static_cast<std::uint8_t>(code | (std::signbit(x) ? 8 : 0));
}

float e2m1_to_float(std::uint8_t code) {
  constexpr float kValues[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  return kValues[code & 15];
}

}  // namespace orthant

#pragma once

#include <cstdint>

namespace orthant {

/// Four-bit floats E2M1 (OCP Microscaling 1.0): 0, 0.5, 1, 1.5, 2, 3, 4, 6 as codes 0 to 7, bit 3 the sign.
/// Rounds to nearest, ties to the even code; magnitudes above 6 saturate. x must not be NaN (gives code 0 or 8).
std::uint8_t float_to_e2m1(float x);

/// Exact; the high four bits of the code are ignored.
float e2m1_to_float(std::uint8_t code);

/// The largest value of E2M1.
inline constexpr float kE2M1Max = 6.0F;

}  // namespace orthant

#pragma once

#include <cstdint>

namespace orthant {

/// Eight-bit floats, as bit patterns (Micikevicius et al. 2022; OCP OFP8 1.0; FNUZ: AMD, Graphcore).
///                exponent, mantissa   largest   smallest normal, subnormal   infinity   NaN
///   e4m3 (FN)          4, 3              448         2^-6,  2^-9               none      7F, FF
///   e5m2               5, 2            57344        2^-14, 2^-16              7C, FC    7D-7F, FD-FF
///   e4m3fnuz           4, 3              240         2^-7, 2^-10               none      80; no negative zero
enum class Fp8Type : std::uint8_t { kE4M3, kE5M2, kE4M3Fnuz };

/// Rounds to nearest, ties to even. Beyond the largest finite value after rounding: saturating gives that value with
/// the sign of x, otherwise infinity where the format has one and NaN where it has none; infinity is treated alike.
/// NaN stays NaN. -0 and what rounds to it is 80, except in e4m3fnuz: 00.
std::uint8_t float_to_fp8(float x, Fp8Type type, bool saturate);

/// Exact.
float fp8_to_float(std::uint8_t bits, Fp8Type type);

/// The largest finite value: 448, 57344 or 240.
float fp8_max(Fp8Type type);

}  // namespace orthant

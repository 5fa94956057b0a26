#pragma once

#include <cstddef>
#include <cstdint>

namespace orthant::quantizer {

/// How long the reconstruction of a unit vector y from its code vector c is made: y_hat = S c (DRIVE, Vargaftik et al.
/// 2021; EDEN, Vargaftik et al. 2022). With D the codebook's relative distortion and q a query orthogonal to y, over
/// Haar rotations and large d:
///                S                   E<y_hat, y>       d Var<q, y_hat>
///   kRaw         1                   1 - D             D (1 - D)        TurboQuant
///   kMatched     1 / |c|             ~ sqrt(1 - D)     D                keeps the norm ("norm correction")
///   kMse         <c, y> / |c|^2      ~ 1 - D           D (1 - D)        least |y - y_hat|^2 for this c
///   kUnbiased    1 / <c, y>          1 exactly         D / (1 - D)      for search and for sums
enum class ScaleRule : std::uint8_t { kRaw, kMatched, kMse, kUnbiased };

/// S from <c, y> and |c|^2 of a unit y. When c points nowhere or away from y (|c| = 0 or <c, y> <= 0, possible only for
/// codes that are not the nearest ones, or at 0 bits), S = 1.
double scale_factor(ScaleRule rule, double c_dot_y, double c_square);

/// How a scale (a norm times S) is kept, lowest byte first.
///   kHalf    IEEE binary16, relative error at most 2^-11
///   kFloat   IEEE binary32, relative error at most 2^-24 from 2^-126 on
/// Never rounded to zero and never to infinity: what does not fit is refused, see stored_scale.
enum class ScaleFormat : std::uint8_t { kHalf, kFloat };

constexpr std::size_t scale_bytes(ScaleFormat format) { return format == ScaleFormat::kFloat ? 4 : 2; }

/// The scale as it will be read back. Throws InvalidArgument naming the row when it does not fit:
///   kHalf    0, or 2^-14 to 65504
///   kFloat   0, or 2^-149 to 2^126      (above, a decoded coordinate could overflow)
float stored_scale(ScaleFormat format, double scale, std::size_t row);
void store_scale(ScaleFormat format, float scale, std::uint8_t* out);
float load_scale(ScaleFormat format, const std::uint8_t* in);

/// "f16" or "f32", as method strings have it.
const char* name(ScaleFormat format);
/// "raw", "matched", "mse" or "unbiased".
const char* name(ScaleRule rule);

}  // namespace orthant::quantizer

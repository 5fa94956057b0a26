#pragma once

#include <cstddef>
#include <cstdint>

#include "orthant/quantizer/meta_type.h"

namespace orthant::quantizer {

/// Numbers that accompany codes (scales, minima, norms), in one of the float formats, little-endian.

/// The largest number of the format that is <= x, and the smallest that is >= x; infinite beyond the range.
float meta_floor(MetaType type, double x);
float meta_ceil(MetaType type, double x);
/// The nearest number of the format, ties to even.
float meta_round(MetaType type, float x);

/// x must be a number of the format.
void store_meta(MetaType type, std::uint8_t* out, float x);
float load_meta(MetaType type, const std::uint8_t* in);

}  // namespace orthant::quantizer

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace orthant::quantizer {

/// Signs of v, one bit each, lowest bit first: 1 for v >= 0 (so for both zeros), 0 for v < 0. Unused bits are zero.
void store_signs(std::span<const float> v, std::span<std::uint8_t> bits);

/// v_j = +1 or -1.
void load_signs(std::span<const std::uint8_t> bits, std::span<float> v);

/// sum_j v_j z_j in double, z_j the signs.
double dot_signs(std::span<const float> v, std::span<const std::uint8_t> bits);

}  // namespace orthant::quantizer

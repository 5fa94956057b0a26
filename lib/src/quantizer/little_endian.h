#pragma once

#include <bit>
#include <cstdint>

#include "orthant/core/half.h"

namespace orthant::quantizer {

/// Numbers inside packed rows, lowest byte first on every machine.
inline void store_u16(std::uint8_t* out, std::uint16_t bits) {
  out[0] = static_cast<std::uint8_t>(bits);
  out[1] = static_cast<std::uint8_t>(bits >> 8);
}
inline std::uint16_t load_u16(const std::uint8_t* in) { return static_cast<std::uint16_t>(in[0] | in[1] << 8); }

inline void store_u32(std::uint8_t* out, std::uint32_t bits) {
  store_u16(out, static_cast<std::uint16_t>(bits));
  store_u16(out + 2, static_cast<std::uint16_t>(bits >> 16));
}
inline std::uint32_t load_u32(const std::uint8_t* in) {
  return load_u16(in) | static_cast<std::uint32_t>(load_u16(in + 2)) << 16;
}

inline void store_float(std::uint8_t* out, float x) { store_u32(out, std::bit_cast<std::uint32_t>(x)); }
inline float load_float(const std::uint8_t* in) { return std::bit_cast<float>(load_u32(in)); }

inline void store_half(std::uint8_t* out, float x) { store_u16(out, float_to_half(x)); }
inline float load_half(const std::uint8_t* in) { return half_to_float(load_u16(in)); }

}  // namespace orthant::quantizer

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/core/rng.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// One vector through a quantizer, in vectors that the tests can compare and print.
inline std::vector<std::uint8_t> encode_one(const VectorQuantizer& quantizer, std::span<const float> x) {
  Workspace work(quantizer.workspace_bytes(1));
  std::vector<std::uint8_t> packed(quantizer.bytes_per_vector());
  quantizer.encode({x.data(), 1, x.size()}, {packed.data(), 1, packed.size()}, work);
  return packed;
}

inline std::vector<float> decode_one(const VectorQuantizer& quantizer, std::span<const std::uint8_t> packed) {
  Workspace work(quantizer.workspace_bytes(1));
  std::vector<float> x_hat(quantizer.dim());
  quantizer.decode({packed.data(), 1, packed.size()}, {x_hat.data(), 1, x_hat.size()}, work);
  return x_hat;
}

inline std::vector<float> round_trip(const VectorQuantizer& quantizer, std::span<const float> x) {
  return decode_one(quantizer, encode_one(quantizer, x));
}

inline float estimate_one(const VectorQuantizer& quantizer, std::span<const float> query,
                          std::span<const std::uint8_t> packed) {
  Workspace work(quantizer.workspace_bytes(1));
  float estimate = 0;
  quantizer.estimate(query, {packed.data(), 1, packed.size()}, {&estimate, 1}, work);
  return estimate;
}

inline std::vector<float> normal_vector(std::size_t dim, std::uint64_t trial, float scale = 1) {
  std::vector<float> x(dim);
  RngStream(1, Domain::kData, trial).fill_normal(x);
  for (float& v : x) v *= scale;
  return x;
}

}  // namespace orthant::quantizer

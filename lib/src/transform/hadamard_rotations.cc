#include <algorithm>
#include <bit>
#include <string>

#include "orthant/core/error.h"
#include "orthant/transform/fast_rotation.h"
#include "transform/row_shapes.h"

namespace orthant::transform {

FastRotation randomized_hadamard(std::size_t dim, int rounds, std::uint64_t seed, std::uint64_t index) {
  return randomized_hadamard(dim, rounds, RngStream(seed, Domain::kRotation, index));
}

FastRotation randomized_hadamard(std::size_t dim, int rounds, RngStream rng) {
  if (rounds < 1 || rounds > 64) {
    throw_invalid_argument("randomized_hadamard", "rounds", std::to_string(rounds), "1 to 64");
  }
  FastRotation rotation(
      dim, "hadamard:" + std::to_string(rounds),
      rounds == 1
          ? "none in the worst case: inputs with few non-zero coordinates stay far from the sphere's law"
          : "coordinates are sums of many random signs, near the sphere's law for large d; no exact law, no bound");
  const std::size_t n = std::bit_floor(dim);
  for (int round = 0; round < rounds; ++round) {
    rotation.add_signs(rng);
    rotation.add_hadamard(0, n);
    if (n == dim) continue;
    rotation.add_signs(rng);
    rotation.add_hadamard(dim - n, n);
    rotation.add_halves();
  }
  return rotation;
}

FastRotation fht_kac(std::size_t dim, std::uint64_t seed, std::uint64_t index) {
  FastRotation rotation(dim, "fht-kac",
                        "near the sphere's law for large d, as hadamard rounds are; no exact law, no bound");
  const std::size_t n = std::bit_floor(dim);
  RngStream rng(seed, Domain::kRotation, index);
  for (int round = 0; round < 4; ++round) {
    rotation.add_signs(rng);
    rotation.add_hadamard(round % 2 == 0 ? 0 : dim - n, n);
    if (n != dim) rotation.add_halves();
  }
  return rotation;
}

FastRotation block_hadamard(std::size_t dim, std::size_t block, std::uint64_t seed, std::uint64_t index) {
  if (!std::has_single_bit(block)) {
    throw_invalid_argument("block_hadamard", "block", std::to_string(block), "a power of two");
  }
  FastRotation rotation(dim, "block-hadamard:" + std::to_string(block),
                        "none: energy never leaves its block of coordinates");
  RngStream rng(seed, Domain::kRotation, index);
  rotation.add_signs(rng);
  for (std::size_t first = 0; first < dim;) {
    const std::size_t size = std::min(block, std::bit_floor(dim - first));
    rotation.add_hadamard(first, size);
    first += size;
  }
  return rotation;
}

FastRotation plain_hadamard(std::size_t dim) {
  FastRotation rotation(dim, "hadamard", "none: a fixed map, undone by inputs that are its own rows");
  const std::size_t block = std::size_t{1} << std::countr_zero(dim);
  for (std::size_t first = 0; first < dim; first += block) rotation.add_hadamard(first, block);
  return rotation;
}

}  // namespace orthant::transform

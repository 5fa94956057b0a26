#include <bit>
#include <string>

#include "orthant/core/error.h"
#include "orthant/transform/fast_rotation.h"

namespace orthant::transform {

FastRotation kac_walk(std::size_t dim, int rounds, std::uint64_t seed, std::uint64_t index) {
  if (rounds < 1 || rounds > 64) throw_invalid_argument("kac_walk", "rounds", std::to_string(rounds), "1 to 64");
  FastRotation rotation(dim, "kac:" + std::to_string(rounds),
                        "for every fixed unit x, R x tends to the uniform law on the sphere as the rounds grow");
  RngStream rng(seed, Domain::kRotation, index);
  const auto depth = static_cast<int>(std::bit_width(dim - 1));  // ceil(log2 d)
  for (int step = 0; step < rounds * depth; ++step) rotation.add_random_planes(rng);
  return rotation;
}

}  // namespace orthant::transform

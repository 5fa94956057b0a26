#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "orthant/transform/rotation.h"

namespace orthant::transform {

/// The rotation a method string names: "haar", "hadamard:R", "kac:R", "fht-kac", "block-hadamard:B",
/// "hadamard" (no signs) or "none"; R = 1 to 64 rounds, B a power of two. For every result,
/// make_rotation(r->describe(), dim, seed, index) is the same map.
/// Throws InvalidArgument for any other text and for dim = 0.
std::shared_ptr<const Rotation> make_rotation(std::string_view spec, std::size_t dim, std::uint64_t seed,
                                              std::uint64_t index = 0);

}  // namespace orthant::transform

#pragma once

#include <cstdint>
#include <vector>

#include "orthant/core/rng.h"

namespace orthant {

/// A few random edits of a valid file: bits flipped, bytes replaced, digits changed into other digits or signs, runs
/// cut out, repeated or moved, the end cut off. A function of the stream alone.
std::vector<std::uint8_t> mutate(std::vector<std::uint8_t> bytes, RngStream& rng);

}  // namespace orthant

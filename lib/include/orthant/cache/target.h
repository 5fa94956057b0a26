#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::cache {

/// Instruction sets compiled into this library that this CPU runs, from the portable one to the widest.
std::vector<std::string> usable_targets();

/// The one that caches take when none is named: the widest, or what the environment variable ORTHANT_TARGET names.
/// Throws InvalidArgument when that is unknown or not supported.
std::string chosen_target();

/// Reads every byte once with the loads of a target (empty: the chosen one) and does nothing else with them: the read
/// bandwidth that no kernel exceeds. Returns their bitwise or by 32-bit words, the last up to 255 bytes left out.
unsigned read_through(std::span<const std::byte> bytes, std::string_view target = {});

}  // namespace orthant::cache

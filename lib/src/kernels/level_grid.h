#pragma once

#include <span>

#include "kernels/scoring.h"

namespace orthant::kernels {

/// The integer grid that represents 2^bits levels for an arithmetic (kTables uses the wide one).
/// Up to 5 bits one plane is enough: its error stays far below the code's own. Evenly spaced levels fall on the grid
/// exactly, and at 8 bits they need no look-up. Other levels of 6 bits and more take two planes.
LevelGrid make_level_grid(std::span<const float> levels, int bits, Arithmetic arithmetic);

/// Query planes that match: 2 where an 8-bit query would show beside the code's own error (6 bits and more).
int query_planes_for(int bits);

}  // namespace orthant::kernels

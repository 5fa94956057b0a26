#pragma once

#include <cstddef>
#include <span>

namespace orthant::quantizer {

/// sum_j a_j b_j in double: squares of floats neither overflow nor underflow there. Eight sums in a fixed order, so the
/// result is the same on every machine.
double dot(std::span<const float> a, std::span<const float> b);

/// |x|; NaN or infinite only when a coordinate is.
double norm(std::span<const float> x);

/// u = x / length, each element rounded once from double; all zero when length is 0. u and x may be the same memory.
void divide(std::span<const float> x, double length, std::span<float> u);

}  // namespace orthant::quantizer

#pragma once

#include <cstdint>
#include <span>

#include "orthant/core/matrix_view.h"
#include "orthant/transform/rope.h"

namespace orthant::transform {

/// Moments of vectors that a rotary embedding turns by a random offset t independent of them,
///   t = u_1 + ... + u_m,   u_i independent, uniform on {0, ..., spans[i] - 1}   (no span: t = 0).
/// In the planes of the pairs, z_a = x + i y, turning multiplies z_a conj(z_b) by exp(i (f_a - f_b) t) and z_a z_b by
/// exp(i (f_a + f_b) t), f the frequencies; their expectations are products of Dirichlet kernels
///   E exp(i phi u) = exp(i phi (n - 1) / 2) sin(n phi / 2) / (n sin(phi / 2)),
/// so the average over any number of offsets costs O(d^2). Error at most about 1e-15 * n * phi of each entry's plane.
/// Throws InvalidArgument on a shape mismatch or an empty span.

/// mean <- E R_t mean.
void average_turned_mean(const Rope& rope, std::span<const std::uint64_t> spans, std::span<double> mean);
/// S <- E R_t S R_t^T for a symmetric S, (d, d).
void average_turned_moment(const Rope& rope, std::span<const std::uint64_t> spans, MatrixView<double> s);

}  // namespace orthant::transform

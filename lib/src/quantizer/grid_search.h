#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "orthant/core/workspace.h"

namespace orthant::quantizer {

/// A point of the grid {1, 3, ..., 2^B - 1}^d, k_j = 2 m_j + 1, beside magnitudes a_j >= 0.
struct GridFit {
  double dot = 0;     ///< sum_j k_j a_j
  double square = 0;  ///< sum_j k_j^2, exact
  double rescale() const {
    return square / (2 * dot);
  }  ///< see nearest_levels: a local optimum is its own rescale's point
};

/// m_j = min(floor(tau a_j), 2^(B-1) - 1): the nearest grid point to 2 tau a.
GridFit nearest_levels(std::span<const float> a, int bits, float tau, std::span<std::uint8_t> levels);

/// The grid point of largest <k, a> / |k|, over the whole grid: the true optimum, ties aside.
///
/// It is nearest_levels at some tau >= 0 (Gao et al. 2025), so it lies on a path along which one level rises at each
/// crossing tau = m / a_j. On that path H = |k|^2 is a convex, piecewise linear function of g = <k, a>, of slope 4 tau.
/// Between tau_1 and tau_2 the chords' extensions therefore bound H from below,
///   H >= H_1 + 4 tau_1 (g - g_1),   H >= H_2 - 4 tau_2 (g_2 - g),
/// and g^2 / (linear) is largest at an end. Intervals whose bound does not reach the best point seen are dropped,
/// others are halved until few crossings are left, which are then sorted and walked one by one in double precision.
/// Intervals are dropped with a margin of 2^-18, a hundred times the rounding of the float sums they are judged by.
///
/// guess: a tau to begin with; it decides the speed, not the result. Takes grid_search_bytes(d) and does not allocate.
/// a must not be all zero.
GridFit best_levels(std::span<const float> a, int bits, float guess, std::span<std::uint8_t> levels, Workspace& work);
std::size_t grid_search_bytes(std::size_t dim);

}  // namespace orthant::quantizer

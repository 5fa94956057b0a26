#pragma once

#include <vector>

#include "orthant/bounds/coordinate_law.h"

namespace orthant::bounds {

/// The optimal fixed-rate scalar quantizer, solved here a second time and independently of the codebook module: every
/// level is the centroid of its cell, cells end at midpoints (Lloyd 1982; Max 1960). For d >= 4 and the Gaussian the
/// stationary point is unique (strict log-concavity: Fleischer 1964, Trushkin 1982); for d = 3 it is the uniform
/// quantizer; for d = 2 the only stationary point that is known.
/// Returns 2^bits increasing levels; bits = 0 is the single level 0. Newton on the positive half, from the companding
/// levels smoothed by Lloyd's sweeps. Throws InvalidArgument unless 0 <= bits <= 12; Error should Newton not reach a
/// centroid residual of 1e-13 standard deviations.
std::vector<double> optimal_levels(const CoordinateLaw& law, int bits);

/// D = E (X - q(X))^2 / Var X for any increasing levels, q the nearest level: the mean squared error of a coded unit
/// vector. For optimal levels E <x, x_hat> = 1 - D.
double distortion(const CoordinateLaw& law, const std::vector<double>& levels);

/// P(X in cell i).
std::vector<double> cell_probabilities(const CoordinateLaw& law, const std::vector<double>& levels);

/// -sum p log2 p; zero probabilities count as 0.
double entropy_bits(const std::vector<double>& probabilities);
/// Mean length of an optimal prefix code (Huffman 1952), in bits; a single symbol still takes 0 bits.
double huffman_bits(const std::vector<double>& probabilities);

/// The best grid of 2^bits equally spaced symmetric levels (fixed step, nearest level).
struct UniformGrid {
  double step = 0;        ///< in units of x
  double distortion = 0;  ///< relative, as distortion()
};
/// Minimises over the step, to 1e-12 relative in the distortion. bits >= 1.
UniformGrid optimal_uniform_grid(const CoordinateLaw& law, int bits);

/// a_1 of D_d(b) = D_inf(b) + a_1(b) / d + O(1/d^2), with a_1 = -E[(Z - q(Z))^2 He_4(Z)] / 4 (Edgeworth expansion of
/// the sphere's coordinate and the envelope theorem); q is the optimal Gaussian quantizer.
double first_order_coefficient(int bits);

}  // namespace orthant::bounds

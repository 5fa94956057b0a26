#pragma once

#include <cstdint>
#include <vector>

namespace orthant::bounds {

/// Exact second-order behaviour of "rotate, round every coordinate to the nearest level, rotate back" on a unit vector
/// x, over Haar-distributed rotations; r = x - x_hat. Nothing is asymptotic and no independence is assumed: the pair
/// (y_1, y_2) of coordinates has y_2 = sqrt(1 - y_1^2) u with u a coordinate of the sphere S^{d-2}.
struct MseMoments {
  double distortion = 0;              ///< D = E ||r||^2
  double distortion_variance = 0;     ///< Var ||r||^2
  double alignment = 0;               ///< E <x_hat, x>; 1 - D when every level is the centroid of its cell
  double alignment_variance = 0;      ///< Var <x_hat, x> = Var <r, x>
  double residual_on_key = 0;         ///< E <r, x>^2
  double norm_square_variance = 0;    ///< Var ||x_hat||^2
  double perpendicular_variance = 0;  ///< E <x_hat, y>^2 for a unit y orthogonal to x: (D - E <r,x>^2) / (d - 1)
};

/// levels: increasing, in units of x (|x| <= 1), not necessarily optimal or symmetric. d >= 2.
/// Two nested quadratures, 1e-12 relative to D^2; the cost is quadratic in the number of levels (0.5 s at 256).
MseMoments mse_moments(std::int64_t d, const std::vector<double>& levels);

/// Mean squared error of <y, x_hat> against <y, x> for unit y with <y, x> = rho (the cross term vanishes by symmetry):
/// rho^2 E <r,x>^2 + (1 - rho^2) perpendicular_variance.
double mse_inner_product_error(const MseMoments& m, double rho);

/// D when a structured rotation sends a unit vector to coordinates of equal size, y_i = +-1/sqrt(d): one round of the
/// randomized Hadamard transform does so to every one-hot vector (mean over the signs).
double flat_vector_distortion(std::int64_t d, const std::vector<double>& levels);
/// D when half of the coordinates are 0 and half are +-sqrt(2/d): one Hadamard round on (e_i + e_j)/sqrt(2). Mean
/// over the signs.
double half_zero_vector_distortion(std::int64_t d, const std::vector<double>& levels);

}  // namespace orthant::bounds

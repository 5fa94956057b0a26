#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orthant::codebook {

/// The optimum for the coordinate of S^{dim-1}, dim >= 2, or N(0, 1), dim = 0, to many digits: positive half only,
/// the law being symmetric. Newton's method in Boost.Multiprecision on closed-form moments.
struct ExtendedSolution {
  std::vector<std::string> centroids;  ///< ascending, scientific notation, all digits
  std::string distortion;              ///< of one coordinate, 30 digits
  std::string entropy;                 ///< in bits, 30 digits
};

/// From centroids good to double precision. digits: 60 or 110, of which conditioning and rounding may spend the
/// last 14. Throws Error when Newton's method does not settle, as it must not from a good start.
ExtendedSolution extended_solve(std::int64_t dim, std::span<const double> positive_centroids, int digits);

/// Every number of the codebook rounded once from the optimum to about 30 digits (one Newton step of 60-digit
/// arithmetic), all levels.
struct RoundedSolution {
  std::vector<double> centroids;
  std::vector<double> boundaries;
  std::vector<double> probabilities;
  double distortion;
  double entropy;
};
RoundedSolution rounded_solve(std::int64_t dim, std::span<const double> positive_centroids);

}  // namespace orthant::codebook

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orthant/codebook/certificate.h"

namespace orthant::codebook {

/// A whole codebook of correctly rounded numbers and what proves them.
struct ProvedNumbers {
  std::vector<double> centroids;
  std::vector<double> boundaries;
  std::vector<double> probabilities;
  double distortion = 0;
  double entropy = 0;
  Certificate certificate;
};

/// Coordinate of S^{dim-1}, dim >= 2, or N(0, 1), dim = 0; from positive centroids good to about double precision.
/// Throws Error when no proof succeeds, or when the library was built without Arb.
ProvedNumbers prove(std::int64_t dim, std::span<const double> positive_centroids);

}  // namespace orthant::codebook

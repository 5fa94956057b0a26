#include "validation/dependence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "orthant/validation/test_vectors.h"

namespace orthant::validation {

double independent_rows(MatrixView<const float> rows) {
  constexpr std::size_t kSample = 200;
  constexpr double kTolerance = 0.2;  // chosen: ten standard errors of the sample at d = 64
  const std::size_t sample = std::min(kSample, rows.rows());
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < sample; ++a) {
    const auto x = rows.row(a * rows.rows() / sample);
    const double xx = dot(x, x);
    for (std::size_t b = 0; b < a; ++b) {
      const auto y = rows.row(b * rows.rows() / sample);
      const double yy = dot(y, y);
      const double xy = dot(x, y);
      if (!(xx * yy > 0)) continue;
      const double square = xy * xy / (xx * yy);
      sum += square * square;
      ++pairs;
    }
  }
  const double n = static_cast<double>(rows.rows());
  if (pairs == 0) return n;
  const double d = static_cast<double>(rows.cols());
  const double excess = std::max(0.0, sum / static_cast<double>(pairs) - 3 / (d * (d + 2)) * (1 + kTolerance));
  return n / (1 + (n - 1) * excess);
}

std::string concentrated_rows(double independent) {
  return fmt::format(
      "the vectors point into similar directions: under one rotation they are worth {:.3g} independent ones, "
      "and the intervals are as wide as that; centred or isotropic vectors tell more",
      independent);
}

}  // namespace orthant::validation

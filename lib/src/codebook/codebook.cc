#include "orthant/codebook/codebook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

std::vector<double> midpoints(const std::vector<double>& centroids) {
  std::vector<double> t;
  for (std::size_t i = 1; i < centroids.size(); ++i) t.push_back(std::midpoint(centroids[i - 1], centroids[i]));
  return t;
}

[[noreturn]] void refuse(const std::string& what, const std::string& got, const std::string& expected) {
  throw_invalid_argument("Codebook", what, got, expected);
}

}  // namespace

Codebook::Codebook(std::string density, std::int64_t dim, int bits, std::vector<double> centroids, double distortion,
                   double entropy)
    : Codebook(std::move(density), dim, bits, centroids, midpoints(centroids), distortion, entropy) {}

Codebook::Codebook(std::string density, std::int64_t dim, int bits, std::vector<double> centroids,
                   std::vector<double> boundaries, double distortion, double entropy)
    : density_(std::move(density)),
      dim_(dim),
      bits_(bits),
      centroids_(std::move(centroids)),
      boundaries_(std::move(boundaries)),
      distortion_(distortion),
      entropy_(entropy) {
  if (bits < 0 || bits > 16) refuse("bits", std::to_string(bits), "0 to 16");
  if (dim < 0) refuse("dim", std::to_string(dim), "0 or more");
  const std::size_t levels = std::size_t{1} << bits;
  require_size("Codebook", "number of centroids", centroids_.size(), levels);
  require_size("Codebook", "number of boundaries", boundaries_.size(), levels - 1);
  for (std::size_t i = 0; i < levels; ++i) {
    const double high = centroids_[i];
    if (!std::isfinite(high)) refuse(fmt::format("centroid {}", i), fmt::format("{}", high), "a finite number");
    if (i == 0) continue;
    const double low = centroids_[i - 1];
    if (!(low < high)) {
      refuse(fmt::format("centroid {}", i), fmt::format("{:.17g}", high), fmt::format("more than {:.17g}", low));
    }
    const double t = boundaries_[i - 1];
    const double middle = std::midpoint(low, high);
    const double ulp = std::numeric_limits<double>::epsilon() * std::max(std::abs(low), std::abs(high));
    const bool between = (low < t && t < high) || t == middle;
    if (!between || !(std::abs(t - middle) <= 2 * ulp)) {
      refuse(fmt::format("boundary {}", i - 1), fmt::format("{:.17g}", t), fmt::format("the midpoint {:.17g}", middle));
    }
  }
  if (!(distortion >= 0 && std::isfinite(distortion))) refuse("distortion", fmt::format("{}", distortion), "0 or more");
  if (!(entropy >= 0 && entropy <= bits)) {
    refuse("entropy", fmt::format("{:.17g}", entropy), fmt::format("0 to {}", bits));
  }
}

std::size_t Codebook::code(double x) const {
  return static_cast<std::size_t>(std::lower_bound(boundaries_.begin(), boundaries_.end(), x) - boundaries_.begin());
}

}  // namespace orthant::codebook

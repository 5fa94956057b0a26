#include "orthant/codebook/weighted_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "codebook/monotone_minimum.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

/// Cost of one cell in O(1) from prefix sums of w, w x, w x^2, x taken about the mean.
class CellCosts {
 public:
  CellCosts(const std::vector<double>& x, const std::vector<double>& w) : mass_{0}, first_{0}, second_{0} {
    long double total = 0;
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      total += w[i];
      sum += static_cast<long double>(w[i]) * x[i];
    }
    mean_ = sum / total;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double offset = x[i] - mean_;
      mass_.push_back(mass_.back() + w[i]);
      first_.push_back(first_.back() + w[i] * offset);
      second_.push_back(second_.back() + w[i] * offset * offset);
    }
  }
  long double total() const { return mass_.back(); }
  /// Points begin .. end - 1 in one cell.
  long double cost(std::size_t begin, std::size_t end) const {
    const long double mass = mass_[end] - mass_[begin];
    const long double first = first_[end] - first_[begin];
    return std::max(second_[end] - second_[begin] - first * first / mass, 0.0L);
  }
  long double centroid(std::size_t begin, std::size_t end) const {
    return mean_ + (first_[end] - first_[begin]) / (mass_[end] - mass_[begin]);
  }

 private:
  long double mean_ = 0;
  std::vector<long double> mass_;
  std::vector<long double> first_;
  std::vector<long double> second_;
};

}  // namespace

WeightedLevels optimal_levels(std::span<const double> points, std::span<const double> weights, std::size_t levels) {
  constexpr const char* kWhere = "optimal_levels";
  if (!weights.empty()) require_size(kWhere, "number of weights", weights.size(), points.size());
  if (levels == 0) throw_invalid_argument(kWhere, "levels", "0", "at least 1");
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    if (!std::isfinite(points[i]))
      throw_invalid_argument(kWhere, fmt::format("point {}", i), fmt::format("{}", points[i]), "a finite number");
    if (!(w >= 0 && std::isfinite(w)))
      throw_invalid_argument(kWhere, fmt::format("weight {}", i), fmt::format("{}", w), "a finite number from 0 on");
    if (w > 0) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(points[i], i); });
  std::vector<double> x;
  std::vector<double> w;
  for (const std::size_t i : order) {
    const double weight = weights.empty() ? 1 : weights[i];
    if (!x.empty() && x.back() == points[i]) {
      w.back() += weight;  // equal points share a cell
    } else {
      x.push_back(points[i]);
      w.push_back(weight);
    }
  }
  const std::size_t n = x.size();
  if (n == 0) throw_invalid_argument(kWhere, "points of positive weight", "none", "at least one");
  const std::size_t used = std::min(levels, n);
  constexpr std::size_t kMostCells = std::size_t{1} << 28U;
  if (n >= kMostCells || used > kMostCells / (n + 1)) {
    throw_invalid_argument(kWhere, "levels times points", fmt::format("{} x {}", used, n), "at most 2^28");
  }

  const CellCosts costs(x, w);
  std::vector<std::vector<std::uint32_t>> split(used, std::vector<std::uint32_t>(n + 1, 0));
  std::vector<long double> before(n + 1, 0);
  for (std::size_t e = 1; e <= n; ++e) before[e] = costs.cost(0, e);
  std::vector<long double> best(n + 1);
  for (std::size_t k = 1; k < used; ++k) {
    // With k + 1 cells, none empty, the first end is k + 1 and the last cell starts at k or later.
    std::fill(best.begin(), best.end(), std::numeric_limits<long double>::infinity());
    const auto cost = [&](std::size_t begin, std::size_t end) { return costs.cost(begin, end); };
    monotone_minimum(cost, before, k + 1, n, k, n - 1, best, split[k]);
    std::swap(before, best);
  }
  WeightedLevels result;
  result.distortion = static_cast<double>(before[n] / costs.total());
  std::size_t end = n;
  for (std::size_t k = used; k > 0; --k) {
    const std::size_t begin = split[k - 1][end];
    result.centroids.push_back(static_cast<double>(costs.centroid(begin, end)));
    result.first.push_back(begin);
    end = begin;
  }
  std::reverse(result.centroids.begin(), result.centroids.end());
  std::reverse(result.first.begin(), result.first.end());
  return result;
}

}  // namespace orthant::codebook

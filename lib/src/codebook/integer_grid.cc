#include "orthant/codebook/integer_grid.h"

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

using density::CellMoments;
using density::DensityView;

/// cost(i, j) for grid points i < j of one scale in O(1), and the costs of both tails.
class GridCosts {
 public:
  GridCosts(DensityView law, IntegerRange range, double scale) : lowest_(range.lowest), scale_(scale) {
    // Moments about 0 up to each half-integer point: mass, first, second.
    const auto [lower, upper] = law.support();
    const std::size_t points = 2 * static_cast<std::size_t>(range.highest - range.lowest) + 1;
    CellMoments sum = law.cell_moments(0, lower, half_point(0));
    below_.push_back(sum);
    for (std::size_t q = 1; q < points; ++q) {
      const CellMoments part = law.cell_moments(0, half_point(q - 1), half_point(q));
      sum = {sum.mass + part.mass, sum.first + part.first, sum.second + part.second};
      below_.push_back(sum);
    }
    const CellMoments part = law.cell_moments(0, half_point(points - 1), upper);
    whole_ = {sum.mass + part.mass, sum.first + part.first, sum.second + part.second};
  }

  std::size_t size() const { return (below_.size() + 1) / 2; }
  long double between(std::size_t i, std::size_t j) const {
    return about(i, below_[2 * i], below_[i + j]) + about(j, below_[i + j], below_[2 * j]);
  }
  long double left_tail(std::size_t i) const { return about(i, {}, below_[2 * i]); }
  long double right_tail(std::size_t i) const { return about(i, below_[2 * i], whole_); }

 private:
  long double half_point(std::size_t q) const {
    return scale_ * (static_cast<long double>(lowest_) + static_cast<long double>(q) / 2);
  }
  /// Second moment about grid point i of what lies between two cumulative moments.
  long double about(std::size_t i, const CellMoments& from, const CellMoments& to) const {
    const long double x = half_point(2 * i);
    return (to.second - from.second) - 2 * x * (to.first - from.first) + x * x * (to.mass - from.mass);
  }

  int lowest_;
  long double scale_;
  std::vector<CellMoments> below_;
  CellMoments whole_;
};

struct Chosen {
  std::vector<std::size_t> points;
  long double distortion = std::numeric_limits<long double>::infinity();
};

/// The best `levels` of the grid's points.
Chosen choose(const GridCosts& costs, std::size_t levels) {
  const std::size_t n = costs.size();
  std::vector<std::vector<std::uint16_t>> from(levels, std::vector<std::uint16_t>(n, 0));
  std::vector<long double> before(n);
  std::vector<long double> best(n);
  for (std::size_t i = 0; i < n; ++i) before[i] = costs.left_tail(i);
  for (std::size_t k = 1; k < levels; ++k) {
    // Level k stands at point k or later, with levels - 1 - k points left for those after it.
    std::fill(best.begin(), best.end(), std::numeric_limits<long double>::infinity());
    const auto cost = [&](std::size_t i, std::size_t j) { return costs.between(i, j); };
    monotone_minimum(cost, before, k, n - levels + k, k - 1, n - levels + k - 1, best, from[k]);
    std::swap(before, best);
  }
  Chosen chosen;
  std::size_t at = 0;
  for (std::size_t i = levels - 1; i < n; ++i) {
    const long double cost = before[i] + costs.right_tail(i);
    if (cost < chosen.distortion) {
      chosen.distortion = cost;
      at = i;
    }
  }
  for (std::size_t k = levels; k > 0; --k) {
    chosen.points.push_back(at);
    at = from[k - 1][at];
  }
  std::reverse(chosen.points.begin(), chosen.points.end());
  return chosen;
}

std::vector<CellMoments> cells(DensityView law, const std::vector<int>& m, double scale) {
  const auto [lower, upper] = law.support();
  std::vector<CellMoments> all;
  for (std::size_t k = 0; k < m.size(); ++k) {
    const long double low = k == 0 ? lower : scale * ((m[k - 1] + m[k]) / 2.0L);
    const long double high = k + 1 == m.size() ? upper : scale * ((m[k] + m[k + 1]) / 2.0L);
    all.push_back(law.cell_moments(static_cast<long double>(scale) * m[k], low, high));
  }
  return all;
}

double distortion(DensityView law, const std::vector<int>& m, double scale) {
  long double sum = 0;
  for (const CellMoments& cell : cells(law, m, scale)) sum += cell.second;
  return static_cast<double>(sum);
}

/// The scale at which E[X q] = E[q^2] for these integers, found by iterating it: each step lowers the distortion.
double own_scale(DensityView law, const std::vector<int>& m, double scale) {
  for (int i = 0; i < 500; ++i) {
    long double product = 0;
    long double square = 0;
    const std::vector<CellMoments> all = cells(law, m, scale);
    for (std::size_t k = 0; k < m.size(); ++k) {
      const auto level = static_cast<long double>(m[k]);
      product += level * (all[k].first + scale * level * all[k].mass);
      square += level * level * all[k].mass;
    }
    if (!(square > 0)) break;
    const auto next = static_cast<double>(product / square);
    const bool settled = std::abs(next - scale) <= 1e-15 * scale;
    scale = next;
    if (settled) break;
  }
  return scale;
}

}  // namespace

std::vector<double> integer_scales(const Codebook& optimum, IntegerRange range, std::size_t count) {
  const double outer = std::max(std::abs(optimum.centroids().front()), std::abs(optimum.centroids().back()));
  std::vector<double> scales;
  for (std::size_t i = 0; i < count; ++i) {
    const double u = range.highest * (0.25 + (static_cast<double>(i) + 1) / static_cast<double>(count));
    scales.push_back(outer / u);
  }
  return scales;
}

IntegerCodebook optimal_integer_codebook(DensityView law, const Codebook& optimum, IntegerRange range,
                                         std::span<const double> scales) {
  constexpr const char* kWhere = "optimal_integer_codebook";
  const auto integers = std::int64_t{range.highest} - range.lowest + 1;
  if (integers < static_cast<std::int64_t>(optimum.size()) || integers > 4096) {
    throw_invalid_argument(kWhere, "integers of the range", std::to_string(integers),
                           fmt::format("{} to 4096", optimum.size()));
  }
  if (scales.empty()) throw_invalid_argument(kWhere, "scales", "none", "at least one");
  for (const double s : scales) {
    if (!(s > 0 && std::isfinite(s))) throw_invalid_argument(kWhere, "scale", fmt::format("{}", s), "positive, finite");
  }
  Chosen best;
  IntegerCodebook result;
  result.scales = scales.size();
  for (const double s : scales) {
    Chosen chosen = choose(GridCosts(law, range, s), optimum.size());
    if (!(chosen.distortion < best.distortion)) continue;
    best = std::move(chosen);
    result.scale_on_set = s;
  }
  for (const std::size_t point : best.points) result.levels.push_back(range.lowest + static_cast<int>(point));
  result.least_on_set = distortion(law, result.levels, result.scale_on_set);
  result.scale = own_scale(law, result.levels, result.scale_on_set);
  result.distortion = distortion(law, result.levels, result.scale);
  result.excess = result.distortion / optimum.distortion() - 1;
  return result;
}

}  // namespace orthant::codebook

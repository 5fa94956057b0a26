#include "orthant/quantizer/weighted_levels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/matrix_view.h"

namespace orthant::quantizer {
namespace {

/// Sorted distinct points with prefix sums of w, w x, w x^2 (x about the mean).
class Line {
 public:
  Line(std::span<const double> points, std::span<const double> weights) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return points[i]; });
    const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0L : static_cast<long double>(weights[i]); };
    long double total = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      total += weight(i);
      centre_ += weight(i) * static_cast<long double>(points[i]);
    }
    if (!(total > 0)) throw_invalid_argument("weighted_levels", "points of positive weight", "none", "at least one");
    centre_ /= total;
    sums_.push_back({});
    double last = 0;
    for (const std::size_t i : order) {
      if (weight(i) == 0) continue;
      if (sums_.size() == 1 || points[i] != last) sums_.push_back(sums_.back());
      last = points[i];
      const long double x = static_cast<long double>(points[i]) - centre_;
      Sums& s = sums_.back();
      s.w += weight(i);
      s.wx += weight(i) * x;
      s.wxx += weight(i) * x * x;
    }
  }

  std::size_t size() const { return sums_.size() - 1; }
  /// min over l of the weighted squared error of points begin, ..., end - 1.
  long double cost(std::size_t begin, std::size_t end) const {
    const long double w = sums_[end].w - sums_[begin].w;
    const long double wx = sums_[end].wx - sums_[begin].wx;
    return std::max(0.0L, sums_[end].wxx - sums_[begin].wxx - wx * wx / w);
  }
  double mean(std::size_t begin, std::size_t end) const {
    return static_cast<double>(centre_ + (sums_[end].wx - sums_[begin].wx) / (sums_[end].w - sums_[begin].w));
  }

 private:
  struct Sums {
    long double w = 0;
    long double wx = 0;
    long double wxx = 0;
  };
  long double centre_ = 0;
  std::vector<Sums> sums_;
};

/// One more interval: next[e] = min over s of previous[s] + cost(s, e), for e in [low, high], the minimiser known to
/// lie in [from, to]; it does not fall as e grows.
void extend(const Line& line, std::span<const long double> previous, std::size_t low, std::size_t high,
            std::size_t from, std::size_t to, std::span<long double> next, std::span<std::uint32_t> start) {
  const std::size_t e = low + (high - low) / 2;
  long double best = std::numeric_limits<long double>::infinity();
  std::size_t arg = from;
  for (std::size_t s = from; s <= std::min(to, e - 1); ++s) {
    const long double value = previous[s] + line.cost(s, e);
    if (value < best) {
      best = value;
      arg = s;
    }
  }
  next[e] = best;
  start[e] = static_cast<std::uint32_t>(arg);
  if (low < e) extend(line, previous, low, e - 1, from, arg, next, start);
  if (e < high) extend(line, previous, e + 1, high, arg, to, next, start);
}

}  // namespace

std::vector<double> weighted_levels(std::span<const double> points, std::span<const double> weights,
                                    std::size_t count) {
  constexpr std::string_view kWhere = "weighted_levels";
  if (count < 1 || count > 256) throw_invalid_argument(kWhere, "levels", std::to_string(count), "1 to 256");
  if (!weights.empty()) require_size(kWhere, "weights", weights.size(), points.size());
  if (!std::ranges::all_of(points, [](double x) { return std::isfinite(x); })) {
    throw_invalid_argument(kWhere, "points", "a NaN or an infinity", "finite numbers");
  }
  if (!std::ranges::all_of(weights, [](double w) { return std::isfinite(w) && w >= 0; })) {
    throw_invalid_argument(kWhere, "weights", "a negative or infinite one", "finite numbers from 0");
  }

  const Line line(points, weights);
  const std::size_t n = line.size();
  const std::size_t intervals = std::min(count, n);
  Matrix<std::uint32_t> start(intervals, n + 1);
  std::vector<long double> previous(n + 1);
  std::vector<long double> next(n + 1);
  for (std::size_t e = 1; e <= n; ++e) previous[e] = line.cost(0, e);
  for (std::size_t k = 1; k < intervals; ++k) {
    // The first e points with k + 1 intervals: e > k, the last interval begins at s >= k.
    extend(line, previous, k + 1, n, k, n - 1, next, start.row(k));
    std::swap(previous, next);
  }

  std::vector<double> levels(count);
  std::size_t end = n;
  for (std::size_t k = intervals; k-- > 0;) {
    const std::size_t begin = k == 0 ? 0 : start(k, end);
    levels[k] = line.mean(begin, end);
    end = begin;
  }
  std::fill(levels.begin() + static_cast<std::ptrdiff_t>(intervals), levels.end(), levels[intervals - 1]);
  return levels;
}

std::size_t nearest_level(std::span<const double> levels, double x) {
  const auto above = std::ranges::lower_bound(levels, x);
  if (above == levels.begin()) return 0;
  std::size_t index = static_cast<std::size_t>(above - levels.begin());
  if (above == levels.end() || x - levels[index - 1] <= levels[index] - x) --index;
  // Equal levels: the first of them.
  return static_cast<std::size_t>(std::ranges::lower_bound(levels, levels[index]) - levels.begin());
}

}  // namespace orthant::quantizer

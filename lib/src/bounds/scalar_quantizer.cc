#include "orthant/bounds/scalar_quantizer.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>
#include <queue>
#include <string>

#include "bounds/quadrature.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

/// The n positive levels of a symmetric quantizer: G_i = integral of (x - c_i) f over cell i, and Newton's step for
/// G = 0. With t_i the midpoints, dG_i/dc_i = -P_i + f(t_i)(t_i - c_i)/2 + f(t_{i-1})(c_i - t_{i-1})/2 and
/// dG_i/dc_{i+-1} = f(t)(half the gap)/2; the boundary at 0 does not move.
class HalfQuantizer {
 public:
  HalfQuantizer(const CoordinateLaw& law, std::vector<double> levels)
      : law_(law), levels_(std::move(levels)), cells_(cells_of(levels_)) {}

  /// max_i |c_i - E[X | cell i]|.
  double residual() const {
    double worst = 0;
    for (const CoordinateLaw::Cell& cell : cells_) worst = std::max(worst, std::abs(cell.first / cell.mass));
    return worst;
  }

  /// Lloyd's sweep: every level to the centroid of its cell.
  void lloyd_sweep() {
    for (std::size_t i = 0; i < levels_.size(); ++i) levels_[i] += cells_[i].first / cells_[i].mass;
    cells_ = cells_of(levels_);
  }

  void newton_step() {
    const std::size_t n = levels_.size();
    std::vector<double> diagonal(n);
    std::vector<double> off(n);  // between i and i + 1, the same above and below the diagonal
    for (std::size_t i = 0; i < n; ++i) {
      diagonal[i] -= cells_[i].mass;
      if (i + 1 == n) break;
      const double end = upper(levels_, i);
      off[i] = law_.density(end) * (end - levels_[i]) / 2;
      diagonal[i] += off[i];
      diagonal[i + 1] += off[i];
    }
    std::vector<double> step(n);
    for (std::size_t i = 0; i < n; ++i) {  // Thomas' algorithm
      step[i] = -cells_[i].first;
      if (i == 0) continue;
      const double factor = off[i - 1] / diagonal[i - 1];
      diagonal[i] -= factor * off[i - 1];
      step[i] -= factor * step[i - 1];
    }
    for (std::size_t i = n; i-- > 0;) step[i] = (step[i] - (i + 1 < n ? off[i] * step[i + 1] : 0.0)) / diagonal[i];
    apply_damped(step);
  }

  std::vector<double> mirrored() const {
    std::vector<double> all;
    for (std::size_t i = levels_.size(); i-- > 0;) all.push_back(-levels_[i]);
    all.insert(all.end(), levels_.begin(), levels_.end());
    return all;
  }

 private:
  using Cells = std::vector<CoordinateLaw::Cell>;

  double upper(const std::vector<double>& c, std::size_t i) const {
    return i + 1 == c.size() ? law_.upper() : (c[i] + c[i + 1]) / 2;
  }
  Cells cells_of(const std::vector<double>& c) const {
    Cells cells(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) cells[i] = law_.cell(i == 0 ? 0.0 : upper(c, i - 1), upper(c, i), c[i]);
    return cells;
  }
  static double merit(const Cells& cells) {
    double sum = 0;
    for (const CoordinateLaw::Cell& cell : cells) sum += cell.first * cell.first;
    return sum;
  }
  bool ordered(const std::vector<double>& c) const {
    double last = 0;
    for (const double level : c) {
      if (!(level > last && level < law_.upper())) return false;
      last = level;
    }
    return true;
  }
  /// Newton's direction lowers sum G_i^2; halve the step until it does. At rounding level nothing lowers it any more
  /// and the levels stay.
  void apply_damped(const std::vector<double>& step) {
    std::vector<double> trial(levels_.size());
    for (double damping = 1; damping > 1e-6; damping /= 2) {
      for (std::size_t i = 0; i < trial.size(); ++i) trial[i] = levels_[i] + damping * step[i];
      if (!ordered(trial)) continue;
      Cells cells = cells_of(trial);
      if (!(merit(cells) < merit(cells_))) continue;
      levels_ = trial;
      cells_ = std::move(cells);
      return;
    }
  }

  const CoordinateLaw& law_;
  std::vector<double> levels_;
  Cells cells_;
};

/// Calls visit(cell) for the cell of every level.
template <class Visit>
void for_each_cell(const CoordinateLaw& law, const std::vector<double>& levels, Visit&& visit) {
  const std::vector<double> t = midpoints(levels);
  const double end = law.upper();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    visit(law.cell(i == 0 ? -end : t[i - 1], i + 1 == levels.size() ? end : t[i], levels[i]));
  }
}

}  // namespace

std::vector<double> optimal_levels(const CoordinateLaw& law, int bits) {
  if (bits < 0 || bits > 12) throw_invalid_argument("optimal_levels", "bits", std::to_string(bits), "0 to 12");
  if (bits == 0) return {0.0};
  const std::size_t n = std::size_t{1} << (bits - 1);
  std::vector<double> start(n);
  for (std::size_t i = 0; i < n; ++i) {
    start[i] = law.companding_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  }
  HalfQuantizer quantizer(law, std::move(start));
  // The outermost companding levels are off by much of their cell; Lloyd's sweeps smooth that away, Newton does the
  // rest.
  for (int sweep = 0; sweep < 30; ++sweep) quantizer.lloyd_sweep();
  constexpr double kResidual = 1e-13;  // standard deviations; rounding leaves about 1e-16
  for (int iteration = 0; iteration < 100; ++iteration) {
    // The step behind a small enough residual is taken too: Newton doubles the digits.
    const bool converged = quantizer.residual() <= kResidual * law.standard_deviation();
    quantizer.newton_step();
    if (converged) return quantizer.mirrored();
  }
  throw Error("optimal_levels: Newton did not converge in 100 steps at " + std::to_string(bits) + " bits");
}

double distortion(const CoordinateLaw& law, const std::vector<double>& levels) {
  double sum = 0;
  for_each_cell(law, levels, [&](const CoordinateLaw::Cell& cell) { sum += cell.second; });
  return sum / (law.standard_deviation() * law.standard_deviation());
}

std::vector<double> cell_probabilities(const CoordinateLaw& law, const std::vector<double>& levels) {
  std::vector<double> p;
  for_each_cell(law, levels, [&](const CoordinateLaw::Cell& cell) { p.push_back(cell.mass); });
  return p;
}

double entropy_bits(const std::vector<double>& probabilities) {
  double bits = 0;
  for (const double p : probabilities) {
    if (p > 0) bits -= p * std::log2(p);
  }
  return bits;
}

double huffman_bits(const std::vector<double>& probabilities) {
  std::priority_queue<double, std::vector<double>, std::greater<>> heap(std::greater<>{}, probabilities);
  double bits = 0;  // every merge adds one bit to all symbols below it
  while (heap.size() > 1) {
    const double a = heap.top();
    heap.pop();
    const double merged = a + heap.top();
    heap.pop();
    bits += merged;
    heap.push(merged);
  }
  return bits;
}

UniformGrid optimal_uniform_grid(const CoordinateLaw& law, int bits) {
  if (bits < 1 || bits > 12) throw_invalid_argument("optimal_uniform_grid", "bits", std::to_string(bits), "1 to 12");
  const std::size_t n = std::size_t{1} << bits;
  std::vector<double> levels(n);
  const auto at_step = [&](double step) {
    for (std::size_t i = 0; i < n; ++i) {
      levels[i] = (static_cast<double>(i) - static_cast<double>(n - 1) / 2) * step;
    }
    return distortion(law, levels);
  };
  // The optimum lies between levels that span one and six standard deviations on either side. The minimum is flat:
  // half of the digits of the step give all digits of the distortion.
  const double sigma = law.standard_deviation();
  const double half = static_cast<double>(n - 1) / 2;
  const auto best = boost::math::tools::brent_find_minima(at_step, 0.5 * sigma / half, 6 * sigma / half, 26);
  return {best.first, best.second};
}

double first_order_coefficient(int bits) {
  const std::vector<double> levels = optimal_levels(CoordinateLaw::gaussian(), bits);
  const std::vector<double> t = midpoints(levels);
  double sum = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double a = i == 0 ? -39.0 : t[i - 1];
    const double b = i + 1 == levels.size() ? 39.0 : t[i];
    sum += integrate_panels(
        [&](double z) {
          const double hermite = (z * z - 6) * z * z + 3;
          return (z - levels[i]) * (z - levels[i]) * hermite * CoordinateLaw::gaussian().density(z);
        },
        a, b, 1.0);
  }
  return -sum / 4;
}

}  // namespace orthant::bounds

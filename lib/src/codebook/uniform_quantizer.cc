#include "orthant/codebook/uniform_quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

using density::CellMoments;
using density::DensityView;

struct Measured {
  UniformQuantizer quantizer;
  double slope = 0;  ///< dD / dstep
};

/// The 2^bits levels of this step, and how the distortion changes with it.
Measured fixed_rate(DensityView law, int bits, double step) {
  const int n = 1 << bits;
  const auto [lower, upper] = law.support();
  const double mean = law.mean();
  Measured m;
  m.quantizer.step = step;
  long double distortion = 0;
  long double entropy = 0;
  long double slope = 0;
  for (int k = 0; k < n; ++k) {
    const double a = k - (n - 1) / 2.0;
    // Wide steps put outer cells past the end of the law: those are empty.
    const double low = k == 0 ? lower : std::clamp(mean + step * (a - 0.5), lower, upper);
    const double high = k == n - 1 ? upper : std::clamp(mean + step * (a + 0.5), lower, upper);
    const CellMoments cell =
        law.cell_moments(static_cast<long double>(mean) + static_cast<long double>(step) * a, low, high);
    distortion += cell.second;
    slope -= 2 * a * cell.first;
    if (cell.mass > 0) entropy -= cell.mass * std::log2(cell.mass);
    m.quantizer.probabilities.push_back(static_cast<double>(cell.mass));
  }
  m.quantizer.distortion = static_cast<double>(distortion);
  m.quantizer.entropy = static_cast<double>(entropy);
  m.slope = static_cast<double>(slope);
  return m;
}

/// As many cells as the law fills, decoded to their means.
UniformQuantizer unlimited(DensityView law, double step) {
  const auto [lower, upper] = law.support();
  const double mean = law.mean();
  const double sigma = std::sqrt(law.variance());
  UniformQuantizer q;
  q.step = step;
  long double distortion = 0;
  long double entropy = 0;
  /// False when nothing is left in this direction.
  const auto add = [&](double k) {
    const double centre = mean + k * step;
    const CellMoments cell = law.cell_moments(centre, centre - step / 2, centre + step / 2);
    if (cell.mass > 0) {
      // Moved to the mean of the cell: E(X - m)^2 = E(X - c)^2 - (E(X - c))^2 / P.
      distortion += cell.second - cell.first * cell.first / cell.mass;
      entropy -= cell.mass * std::log2(cell.mass);
      q.probabilities.push_back(static_cast<double>(cell.mass));
    }
    constexpr long double kNothing = 1e-24L;  // this and all cells beyond weigh less than rounding of the sums
    return cell.mass > kNothing || std::abs(k * step) < sigma;
  };
  add(0);
  for (double k = 1; (k - 0.5) * step < upper - mean && add(k);) ++k;
  for (double k = -1; (k + 0.5) * step > lower - mean && add(k);) --k;
  q.distortion = static_cast<double>(distortion);
  q.entropy = static_cast<double>(entropy);
  return q;
}

/// Root of f in [low, high], where it changes sign.
template <class F>
double root(F f, double low, double high) {
  std::uintmax_t iterations = 200;
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-15 * std::min(std::abs(a), std::abs(b)); };
  const auto [a, b] = boost::math::tools::toms748_solve(f, low, high, close, iterations);
  return (a + b) / 2;
}

}  // namespace

UniformQuantizer optimal_uniform(DensityView law, int bits) {
  if (bits < 1 || bits > 10) throw_invalid_argument("optimal_uniform", "bits", std::to_string(bits), "1 to 10");
  if (!law.symmetric()) throw_invalid_argument("optimal_uniform", "law", law.name(), "one symmetric about its mean");
  const double sigma = std::sqrt(law.variance());
  const auto [lower, upper] = law.support();
  // Twice what fills the support: a law with its mass at the ends wants its outer levels there.
  double low = 0;
  double high = 2 * std::min(upper - lower, 28 * sigma) / (1 << bits);
  const auto slope = [&](double step) { return fixed_rate(law, bits, step).slope; };
  // The least of 64 steps brackets the optimum. Where a density has a pole (d = 2) the distortion has several minima,
  // and the bracket is refined until the slope changes sign in it, which it does once it holds a single one.
  constexpr int kTried = 64;
  do {
    const double width = (high - low) / kTried;
    const double first = low + width;
    int best = 0;
    double least = HUGE_VAL;
    for (int i = 0; i < kTried; ++i) {
      const double d = fixed_rate(law, bits, first + i * width).quantizer.distortion;
      if (d < least) {
        least = d;
        best = i;
      }
    }
    low = first + (best - (best == 0 ? 0.984375 : 1.0)) * width;  // never step 0
    high = first + (best + 1) * width;
  } while (!(slope(low) < 0 && slope(high) > 0) && high - low > 1e-14 * high);
  if (!(slope(low) < 0 && slope(high) > 0)) return fixed_rate(law, bits, (low + high) / 2).quantizer;
  return fixed_rate(law, bits, root(slope, low, high)).quantizer;
}

UniformQuantizer entropy_coded_uniform(DensityView law, double entropy) {
  if (!(entropy >= 0.1 && entropy <= 12)) {
    throw_invalid_argument("entropy_coded_uniform", "entropy", fmt::format("{}", entropy), "0.1 to 12 bits");
  }
  const double sigma = std::sqrt(law.variance());
  const auto excess = [&](double log_step) { return unlimited(law, sigma * std::exp2(log_step)).entropy - entropy; };
  // Entropy is close to h - log2(step / sigma), h > 1 bit for the laws here, and falls to 0 for wide cells.
  return unlimited(law, sigma * std::exp2(root(excess, -entropy - 0.5, 4.0)));
}

}  // namespace orthant::codebook

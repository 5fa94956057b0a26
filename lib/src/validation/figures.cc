#include "orthant/validation/figures.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/bounds/converse.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "validation/coded_vector.h"

namespace orthant::validation {
namespace {

void check(const FigureOptions& options) {
  if (options.bits.empty() || options.cosines.empty() || options.seeds == 0 || options.keys == 0 || options.dim < 2) {
    throw InvalidArgument("run_figures: expected d >= 2, and a rate, a cosine, a seed and a key at least");
  }
  for (const int b : options.bits) {
    if (b < 1 || b > 8) throw_invalid_argument("run_figures", "bits", std::to_string(b), "1 to 8");
  }
  for (const double rho : options.cosines) {
    if (!(std::abs(rho) <= 1)) throw_invalid_argument("run_figures", "cosine", std::to_string(rho), "-1 to 1");
  }
}

/// Of seed r, key after key: the squared error of the vector, then the error of a product for each cosine.
void errors_of(const FigureOptions& options, const std::string& method, std::uint64_t r, std::span<double> out) {
  // A uniform pair stays one under any rotation: a cheap one serves as well as a Haar rotation.
  const auto quantizer = options.subject(method + ",norm=f32,rotation=hadamard:3", options.dim, options.seed, r);
  RngStream rng(options.seed, claim_domain("figures"), r);
  Matrix<float> x(1, options.dim);
  std::vector<float> query(options.dim);
  std::size_t at = 0;
  for (std::size_t k = 0; k < options.keys; ++k) {
    rng.fill_unit_vector(x.row(0));
    CodedRows coded(*quantizer, x.view());
    out[at++] = squared_distance(x.row(0), coded.decoded().row(0));
    for (const double rho : options.cosines) {
      correlated_query(x.row(0), rho, rng, query);
      out[at++] = coded.error(query);
    }
  }
}

ErrorDistribution distribution(const std::vector<double>& errors, double range) {
  ErrorDistribution all;
  Moments m;
  all.range = range;
  all.counts.assign(kErrorBins, 0);
  for (const double error : errors) {
    m.add(error);
    const double bin = std::floor((error + range) / (2 * range) * kErrorBins);
    ++all.counts[static_cast<std::size_t>(std::clamp(bin, 0.0, kErrorBins - 1.0))];
  }
  all.mean = m.mean();
  all.variance = m.standard_deviation() * m.standard_deviation();
  return all;
}

}  // namespace

Figures run_figures(const FigureOptions& options, montecarlo::Workers& workers,
                    const std::function<void(std::size_t, std::size_t)>& progress) {
  check(options);
  const double d = static_cast<double>(options.dim);
  const auto dim = static_cast<std::int64_t>(options.dim);
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(dim);
  const std::size_t numbers = 1 + options.cosines.size();
  const std::size_t width = options.keys * numbers;
  Figures figures;
  for (const int b : options.bits) {
    const double before = b == 1 ? 1 : bounds::distortion(law, bounds::optimal_levels(law, b - 1));
    const double range = 4 * std::sqrt(std::numbers::pi / 2 * before / d);  // four standard deviations of prod
    for (const std::string name : {"turbo-mse", "turbo-prod"}) {
      std::vector<double> results(options.seeds * width);
      workers.map(
          options.seeds, width,
          [&](std::size_t r, std::span<double> out) { errors_of(options, name + ':' + std::to_string(b), r, out); },
          results);
      Moments distortion;
      Moments squares;
      std::vector<std::vector<double>> errors(options.cosines.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (i % numbers == 0) {
          distortion.add(results[i]);
        } else {
          squares.add(results[i] * results[i]);
          errors[i % numbers - 1].push_back(results[i]);
        }
      }
      figures.rows.push_back({name, b, distortion.mean(), squares.mean(), bounds::theorem1(b),
                              bounds::printed_lower_bound(b), bounds::cap_converse(dim, b),
                              bounds::theorem2_times_d(b) / d, bounds::printed_lower_bound(b) / d});
      for (std::size_t c = 0; c < errors.size(); ++c) {
        ErrorDistribution of = distribution(errors[c], range);
        of.method = name;
        of.bits = b;
        of.cosine = options.cosines[c];
        figures.errors.push_back(std::move(of));
      }
      if (progress && workers.root()) progress(figures.rows.size(), 2 * options.bits.size());
    }
  }
  return figures;
}

}  // namespace orthant::validation

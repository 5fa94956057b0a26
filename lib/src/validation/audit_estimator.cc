#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/bounds/converse.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/sketch.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/validation/audit.h"
#include "orthant/validation/test_vectors.h"
#include "validation/dependence.h"

namespace orthant::validation {
namespace {

/// Slope and d Var that a method, or a method with a fault, would show at b total bits.
struct Signature {
  std::string id;
  std::string name;
  bool fault = false;
  double slope = 1;
  double variance = 0;
  double most = 0;  ///< where a family of codes has a range: its largest d Var
};

std::vector<Signature> signatures(std::size_t dim, int b) {
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(static_cast<std::int64_t>(dim));
  const double d = static_cast<double>(dim);
  const double own = bounds::distortion(law, bounds::optimal_levels(law, b));
  const double before = bounds::distortion(law, bounds::optimal_levels(law, b - 1));
  const double half_pi = std::numbers::pi / 2;
  const double grid = bounds::optimal_uniform_grid(law, b).distortion;
  std::vector<Signature> all;
  const auto add = [&](const char* id, const char* name, bool fault, double slope, double least, double most) {
    all.push_back({id, name, fault, slope, least, most});
  };
  const auto law_of = [&](const char* id, const char* name, double slope, double variance) {
    add(id, name, false, slope, variance, variance);
  };
  law_of("turbo-mse", "TurboQuant_mse", 1 - own, bounds::raw_variance_times_d(own));
  law_of("matched", "centroid codes, |x_hat| = |x|", std::sqrt(1 - own), own);
  // From the optimal levels to the best uniform grid with a fixed step; searched grids lie between.
  add("unbiased", "centroid or grid codes with the unbiased scale", false, 1, bounds::unbiased_variance_times_d(own),
      bounds::unbiased_variance_times_d(grid));
  law_of("prod-gaussian", "TurboQuant_prod, Gaussian sketch", 1, half_pi * before);
  law_of("prod-orthogonal", "TurboQuant_prod, orthogonal sketch", 1, (half_pi - 1) * before);
  if (b >= 2) {
    // x_hat = x - r + k r + noise of k times the sketch's: k = 1 as it should be, 1/sqrt(d) with the wrong constant.
    const double k = 1 / std::sqrt(d);
    const double left = bounds::raw_variance_times_d(before);
    const double wrong = (1 - k) * (1 - k) * left + k * k * (half_pi - 1) * before;
    add("sketch-constant", "an orthonormal sketch with the Gaussian constant sqrt(pi/2)/d; it should be sqrt(pi/(2d))",
        true, 1 - before * (1 - k), wrong, wrong);
    add("sketch-inert", "TurboQuant_prod whose sketch contributes nothing", true, 1 - before, left, left);
  }
  return all;
}

double nearest_law(const Signature& s, double variance) { return std::clamp(variance, s.variance, s.most); }

/// How far a measurement lies from a signature, in units of what tells signatures apart.
double miss(const Signature& s, double slope, double variance) {
  return std::abs(slope - s.slope) / std::max(0.01, 0.1 * (1 - s.slope)) +
         std::abs(std::log(std::max(variance, std::numeric_limits<double>::min()) / nearest_law(s, variance))) / 0.1;
}

}  // namespace

AuditResult audit_estimator(MatrixView<const float> queries, MatrixView<const float> keys,
                            MatrixView<const float> scores, const EstimatorOptions& options) {
  const auto shape = [](const auto& m) { return fmt::format("({}, {})", m.rows(), m.cols()); };
  if (keys.cols() != queries.cols()) {
    throw_invalid_input(options.name, "shapes of queries and keys", shape(queries) + " and " + shape(keys),
                        "rows of one length");
  }
  if (scores.rows() != queries.rows() || scores.cols() != keys.rows()) {
    throw_invalid_input(options.name, "shape", shape(scores),
                        fmt::format("({}, {}): queries by keys", queries.rows(), keys.rows()));
  }
  if (keys.cols() < 8 || keys.rows() < 100 || queries.rows() < 1) {
    throw_invalid_input(options.name, "input",
                        fmt::format("{} queries, {} keys of {}", queries.rows(), keys.rows(), keys.cols()),
                        "a query, 100 keys and 8 coordinates or more");
  }
  if (options.bits && (*options.bits < 1 || *options.bits > 8)) {
    throw_invalid_argument("audit_estimator", "bits", std::to_string(*options.bits), "1 to 8");
  }

  // Products and scores relative to |q| |k|. A key's error is shared by its queries: standard errors are over keys.
  const double d = static_cast<double>(keys.cols());
  std::vector<double> query_norm(queries.rows());
  for (std::size_t i = 0; i < queries.rows(); ++i) query_norm[i] = std::sqrt(dot(queries.row(i), queries.row(i)));
  std::size_t not_finite = 0;
  double cross = 0;
  double square = 0;
  std::vector<std::vector<std::pair<double, double>>> pairs(keys.rows());
  for (std::size_t j = 0; j < keys.rows(); ++j) {
    const double norm = std::sqrt(dot(keys.row(j), keys.row(j)));
    for (std::size_t i = 0; i < queries.rows(); ++i) {
      const double size = norm * query_norm[i];
      const double score = static_cast<double>(scores(i, j));
      if (!std::isfinite(score)) ++not_finite;
      if (!(size > 0) || !std::isfinite(score)) continue;
      const double truth = dot(queries.row(i), keys.row(j)) / size;
      pairs[j].emplace_back(truth, score / size);
      cross += truth * (score / size);
      square += truth * truth;
    }
  }
  AuditResult result;
  if (not_finite > 0) {
    result.findings.push_back({true, "not-finite", fmt::format("{} scores are NaN or infinite", not_finite)});
  }
  if (!(square > 0)) throw_invalid_input(options.name, "true products", "all zero", "some that are not");
  const double slope = cross / square;
  Moments influence;  // of each key on the slope
  Moments variance;   // of each key, over its queries
  Moments bias;
  std::size_t count = 0;
  const double per_key = square / static_cast<double>(keys.rows());
  for (const auto& of_key : pairs) {
    double pull = 0;
    double squares = 0;
    double errors = 0;
    for (const auto& [truth, score] : of_key) {
      const double rest = score - slope * truth;
      pull += truth * rest;
      squares += d * rest * rest;
      errors += score - truth;
    }
    influence.add(pull / per_key);
    if (of_key.empty()) continue;
    const double queries_of_key = static_cast<double>(of_key.size());
    variance.add(squares / queries_of_key);
    bias.add(errors / queries_of_key);
    count += of_key.size();
  }
  const double independent = independent_rows(keys);
  const double widening = std::sqrt(static_cast<double>(keys.rows()) / independent);
  const double slope_half = 5 * widening * influence.standard_error();
  const double variance_half = 5 * widening * variance.standard_error();

  const int first = options.bits.value_or(1);
  const int last = options.bits.value_or(8);
  std::optional<Signature> best;
  double nearest = std::numeric_limits<double>::infinity();
  for (int b = first; b <= last; ++b) {
    for (const Signature& s : signatures(keys.cols(), b)) {
      const double off = miss(s, slope, variance.mean());
      if (off >= nearest) continue;
      nearest = off;
      best = s;
      result.bits = b;
    }
  }
  result.measurements = {
      {"pairs",
       static_cast<double>(count),
       0,
       {},
       fmt::format("{} queries, {} keys worth {:.3g} independent ones", queries.rows(), keys.rows(), independent)},
      {"slope", slope, slope_half, best->slope, "of scores on true products; 1 when unbiased"},
      {"V", variance.mean(), variance_half, nearest_law(*best, variance.mean()),
       "d Var beside the slope, relative to |q|^2 |k|^2"},
      {"mean error", bias.mean(), 5 * widening * bias.standard_error(), 0.0, "scores minus products"},
  };
  const bool isotropic = independent >= 0.5 * static_cast<double>(keys.rows());
  if (!isotropic) {
    result.findings.push_back({false, "concentrated", concentrated_rows(independent)});
  }
  // Chosen: 5 % cover the finite-d terms that the laws leave out and the one sketch that all keys share; up to chance.
  const double law = nearest_law(*best, variance.mean());
  const bool slope_fits = std::abs(slope - best->slope) <= slope_half + std::max(0.005, 0.05 * (1 - best->slope));
  const bool variance_fits = std::abs(variance.mean() - law) <= variance_half + 0.05 * law;
  if (slope_fits && variance_fits) {
    result.findings.push_back({best->fault, best->id, fmt::format("{} bits: {}", result.bits, best->name)});
    return result;
  }
  if (std::abs(slope - 1) > slope_half + 0.005) {
    result.findings.push_back(
        {true, "slope",
         fmt::format("slope {:.4g} +- {:.2g}: biased, and not as any known method is (nearest: {}, slope {:.4g})",
                     slope, slope_half, best->name, best->slope)});
  }
  // Whatever a score does with a key's code, V = E|x_hat|^2 - s^2 at best (x_hat: the mean of the keys of one code
  // times a factor, s: the slope), and x_hat / s is unbiased: V >= s^2 times the floor. Only of isotropic keys.
  const double least =
      slope * slope * bounds::unbiased_floor(bounds::cap_converse(static_cast<std::int64_t>(d), result.bits));
  if (options.bits && isotropic && variance.mean() + variance_half < least) {
    result.findings.push_back(
        {true, "converse",
         fmt::format(
             "V = {:.4g} +- {:.2g} is below {:.4g}, the least that {} bits a coordinate allow: these scores know "
             "more of the keys than such codes hold (taken from the keys themselves?)",
             variance.mean(), variance_half, least, result.bits)});
  } else if (!variance_fits) {
    const bool more = variance.mean() > law;
    result.findings.push_back({more, "variance",
                               fmt::format("V = {:.4g} +- {:.2g}, {} than the nearest law, {} with {:.4g}",
                                           variance.mean(), variance_half, more ? "more" : "less", best->name, law)});
  }
  return result;
}

}  // namespace orthant::validation

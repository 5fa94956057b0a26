#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "orthant/bounds/converse.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/validation/audit.h"
#include "orthant/validation/test_vectors.h"
#include "validation/dependence.h"

namespace orthant::validation {
namespace {

using bounds::CoordinateLaw;

constexpr double kErrors = 5;        // standard errors, see the header
constexpr double kTolerance = 0.03;  // chosen: what rounding of norms, a Gaussian table at d >= 48 and the like cost
constexpr double kLength =
    0.02;  // chosen: a common factor that is worth a remark; a Gaussian table's is 0.3 % off at d = 128

/// Of a mean over vectors worth `independent` independent ones.
double half_width(const Moments& m, double independent) {
  return kErrors * m.standard_deviation() / std::sqrt(independent);
}

/// Every part of `dim` coordinates as a row of its own.
MatrixView<const float> parts(MatrixView<const float> x, std::size_t dim) {
  return x.contiguous() ? MatrixView<const float>(x.data(), x.rows() * (x.cols() / dim), dim) : x.middle_cols(0, dim);
}

struct Sample {
  Moments error;      // |x - x_hat|^2 / |x|^2
  Moments alignment;  // <x_hat, x> / |x|^2
  Moments direction;  // 1 - cos^2
  Moments norm;       // |x_hat| / |x|
  Moments off_unit_norm;
  Moments off_unit_alignment;
  Moments off_least_squares;
  std::vector<double> errors;
  std::size_t zero = 0;
  std::size_t lost = 0;
  std::size_t not_finite = 0;
};

Sample sample_of(MatrixView<const float> x, MatrixView<const float> x_hat, std::size_t dim) {
  Sample s;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t first = 0; first < x.cols(); first += dim) {
      const auto a = x.row(i).subspan(first, dim);
      const auto b = x_hat.row(i).subspan(first, dim);
      const double square = dot(a, a);
      const double decoded = dot(b, b);
      if (!std::isfinite(square + decoded)) {
        ++s.not_finite;
      } else if (square == 0) {
        ++s.zero;
      } else if (decoded == 0) {
        ++s.lost;
      } else {
        const double along = dot(a, b);
        s.error.add(squared_distance(a, b) / square);
        s.errors.push_back(squared_distance(a, b) / square);
        s.alignment.add(along / square);
        s.direction.add(std::max(0.0, 1 - along / square * (along / decoded)));
        s.norm.add(std::sqrt(decoded / square));
        s.off_unit_norm.add(std::abs(std::sqrt(decoded / square) - 1));
        s.off_unit_alignment.add(std::abs(along / square - 1));
        s.off_least_squares.add(std::abs(along / decoded - 1));
      }
    }
  }
  return s;
}

/// Distortion and alignment of levels scaled by s.
struct Scaled {
  double distortion;
  double alignment;
};

Scaled scaled_levels(const CoordinateLaw& law, std::vector<double> levels, double s) {
  for (double& c : levels) c *= s;
  const std::vector<double> t = bounds::midpoints(levels);
  double alignment = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double low = i == 0 ? -law.upper() : t[i - 1];
    const double high = i + 1 == levels.size() ? law.upper() : t[i];
    alignment += levels[i] * law.cell(low, high, 0).first;
  }
  const double variance = law.standard_deviation() * law.standard_deviation();
  return {bounds::distortion(law, levels), alignment / variance};
}

/// The wrong unit that explains both numbers at b bits, if one does.
std::string explain_scale(const CoordinateLaw& law, int b, double error, double alignment) {
  const double d = static_cast<double>(law.dim());
  const std::vector<double> own = bounds::optimal_levels(law, b);
  double best = 0.05;  // chosen: candidates differ by far more
  std::string text;
  const auto consider = [&](const std::vector<double>& levels, double s, const std::string& explanation) {
    const Scaled at = scaled_levels(law, levels, s);
    const double miss = std::abs(std::log(error / at.distortion)) + std::abs(alignment / at.alignment - 1);
    if (!(miss < best)) return;
    best = miss;
    text = explanation;
  };
  consider(own, std::sqrt(d), "levels for unit-variance coordinates on unit vectors: the factor 1/sqrt(d) is missing");
  consider(own, std::numbers::sqrt2, "levels sqrt(2) too large");
  consider(own, 1 / std::numbers::sqrt2, "levels sqrt(2) too small: 1/sqrt(2d) in place of 1/sqrt(d)");
  for (const std::int64_t other :
       {16, 32, 48, 64, 80, 96, 112, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}) {
    if (other == law.dim()) continue;
    consider(bounds::optimal_levels(CoordinateLaw::sphere(other), b), 1,
             fmt::format("levels made for d = {} on vectors normalised in blocks of {}", other, law.dim()));
  }
  return text;
}

int infer_bits(const CoordinateLaw& law, double direction_error) {
  int best = 1;
  double nearest = std::numeric_limits<double>::infinity();
  for (int b = 1; b <= 8; ++b) {
    const double d = bounds::distortion(law, bounds::optimal_levels(law, b));
    // A lossless reconstruction is nearest to the finest code.
    const double miss = std::abs(std::log(std::max(direction_error, std::numeric_limits<double>::min()) / d));
    if (miss < nearest) {
      nearest = miss;
      best = b;
    }
  }
  return best;
}

/// The rule by which every code has a scale of its own, if one does to the precision of a 16-bit scale.
std::optional<std::string> own_scale_rule(const Sample& s) {
  constexpr double kRounding = 1e-3;
  if (s.off_unit_alignment.mean() < kRounding) return "unbiased scale: <x_hat, x> = |x|^2";
  if (s.off_unit_norm.mean() < kRounding) return "matched scale: |x_hat| = |x|";
  if (s.off_least_squares.mean() < kRounding) return "least-squares scale: <x_hat, x> = |x_hat|^2";
  return std::nullopt;
}

}  // namespace

bool AuditResult::faulty() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.fault; });
}

AuditResult audit_decoded(MatrixView<const float> x, MatrixView<const float> x_hat, const DecodedOptions& options) {
  if (x_hat.rows() != x.rows() || x_hat.cols() != x.cols()) {
    throw_invalid_input(options.name, "shape", fmt::format("({}, {})", x_hat.rows(), x_hat.cols()),
                        fmt::format("({}, {}) as the vectors have", x.rows(), x.cols()));
  }
  const std::size_t dim = options.dim == 0 ? x.cols() : options.dim;
  if (dim < 8 || x.cols() % dim != 0) {
    throw_invalid_argument("audit_decoded", "dim", std::to_string(dim),
                           "8 or more, dividing the " + std::to_string(x.cols()) + " columns");
  }
  if (options.bits && (*options.bits < 1 || *options.bits > 8)) {
    throw_invalid_argument("audit_decoded", "bits", std::to_string(*options.bits), "1 to 8");
  }
  const Sample s = sample_of(x, x_hat, dim);
  AuditResult result;
  const auto fault = [&](std::string id, std::string text) {
    result.findings.push_back({true, std::move(id), std::move(text)});
  };
  if (s.not_finite > 0) fault("not-finite", fmt::format("{} vectors have NaN or infinite coordinates", s.not_finite));
  if (s.lost > 0) fault("lost", fmt::format("{} nonzero vectors are decoded to zero", s.lost));
  if (s.error.count() < 100) {
    throw_invalid_input(options.name, "vectors",
                        fmt::format("{} usable, {} zero, {} decoded to zero, {} not finite in single precision",
                                    s.error.count(), s.zero, s.lost, s.not_finite),
                        "100 usable or more");
  }

  const CoordinateLaw law = CoordinateLaw::sphere(static_cast<std::int64_t>(dim));
  const int b = options.bits.value_or(infer_bits(law, s.direction.mean()));
  const std::vector<double> levels = bounds::optimal_levels(law, b);
  const double optimum = bounds::distortion(law, levels);
  const double grid = bounds::optimal_uniform_grid(law, b).distortion;
  const double cap = bounds::cap_converse(static_cast<std::int64_t>(dim), b);
  result.bits = b;
  const MatrixView<const float> vectors = parts(x, dim);
  const double share = independent_rows(vectors) / static_cast<double>(vectors.rows());
  const double independent = share * static_cast<double>(s.error.count());
  const bool isotropic = share > 0.5;

  std::vector<double> sorted = s.errors;
  std::sort(sorted.begin(), sorted.end());
  result.measurements = {
      {"vectors",
       static_cast<double>(s.error.count()),
       0,
       {},
       fmt::format("of {} coordinates; {} zero; worth {:.3g} independent ones", dim, s.zero, independent)},
      {"|x - x_hat|^2 / |x|^2", s.error.mean(), half_width(s.error, independent), optimum, "optimal levels, one scale"},
      {"<x_hat, x> / |x|^2", s.alignment.mean(), half_width(s.alignment, independent), 1 - optimum,
       "1 - D; 1 when unbiased"},
      {"1 - cos^2", s.direction.mean(), half_width(s.direction, independent), optimum, "what no scale can mend"},
      {"|x_hat| / |x|", s.norm.mean(), half_width(s.norm, independent), std::sqrt(1 - optimum),
       "sqrt(1 - D); 1 when matched"},
      {"99 % of errors below", sorted[(sorted.size() - 1) * 99 / 100], 0, {}, ""},
      {"converse", cap, 0, {}, "no code of that many bits lies below"},
  };
  const std::optional<std::string> own_scale = own_scale_rule(s);
  result.findings.push_back({false, "scale-rule", own_scale.value_or("one scale for all codes")});
  if (!isotropic) result.findings.push_back({false, "concentrated", concentrated_rows(independent)});

  const bool below_converse = s.direction.mean() + half_width(s.direction, independent) < cap;
  if (below_converse && !options.bits) {
    // Nobody claimed these bits: the reconstruction is finer than every rate that is tried.
    result.findings.push_back(
        {false, "rate",
         fmt::format("finer than any code of {} bits a coordinate; say the bits to have them judged", b)});
  } else if (below_converse && !isotropic) {
    result.findings.push_back(
        {false, "converse",
         fmt::format(
             "1 - cos^2 = {:.4g} is below {:.4g}, the least that {} bits allow on isotropic vectors: a code made for "
             "these vectors, or for what is left of them beside a mean",
             s.direction.mean(), cap, b)});
  } else if (below_converse) {
    fault("converse", fmt::format("1 - cos^2 = {:.4g} is below {:.4g}, the least that {} bits a coordinate allow",
                                  s.direction.mean(), cap, b));
  }

  // A wrong unit shows in the scale, and mostly in the directions too: name it before anything else. A scale of its own
  // for every code hides the unit: what is left to see is in the directions.
  const double good = std::max(optimum, grid);
  const double error = s.error.mean() - half_width(s.error, independent);
  const bool off = !own_scale && error > (1 + kTolerance) * bounds::unbiased_variance_times_d(good);
  std::string unit;
  if (off) unit = explain_scale(law, b, s.error.mean(), s.alignment.mean());
  // Levels of a wrong unit code with few of their indices: the directions then say nothing about the bits.
  for (int other = 1; off && unit.empty() && !options.bits && other <= 8; ++other) {
    unit = explain_scale(law, other, s.error.mean(), s.alignment.mean());
    if (!unit.empty()) result.bits = other;
  }
  const double direction = s.direction.mean() - half_width(s.direction, independent);
  if (!unit.empty()) {
    fault("level-scale",
          fmt::format("error {:.4g} where {:.4g} is due at {} bits: {}", s.error.mean(),
                      bounds::distortion(law, bounds::optimal_levels(law, result.bits)), result.bits, unit));
  } else if (direction > (1 + kTolerance) * good) {
    std::string cause = "the search for codes misses better ones";
    // Of independent directions E cos^2 = 1/d.
    if (s.direction.mean() > 1 - 2 / static_cast<double>(dim)) {
      cause = "these are not reconstructions of these vectors: another order of the rows, or a rotation not undone";
    }
    for (int fewer = 1; fewer < b; ++fewer) {
      const double d = bounds::distortion(law, bounds::optimal_levels(law, fewer));
      if (std::abs(s.direction.mean() / d - 1) < 0.05) {
        cause = fmt::format("the reconstruction uses {} of {} bits", fewer, b);
        break;
      }
    }
    fault(
        "directions",
        fmt::format("1 - cos^2 = {:.4g}, {:+.1f} % above the optimum {:.4g} and above the best uniform grid {:.4g}: {}",
                    s.direction.mean(), 100 * (s.direction.mean() / optimum - 1), optimum, grid, cause));
  } else if (error > (1 + kTolerance) * std::max(good, bounds::unbiased_variance_times_d(s.direction.mean()))) {
    fault("scale", fmt::format("error {:.4g} though 1 - cos^2 is {:.4g}: the codes are good, their {} is not",
                               s.error.mean(), s.direction.mean(), s.alignment.mean() < 0 ? "sign" : "length"));
  } else if (direction > (1 + kTolerance) * optimum) {
    result.findings.push_back(
        {false, "directions",
         fmt::format("1 - cos^2 is {:.1f} % above the optimal levels', within the best uniform grid's",
                     100 * (s.direction.mean() / optimum - 1))});
  }

  // Levels that are the means of their cells, and the best uniform grid, have E<x_hat, x> = E|x_hat|^2. One factor for
  // all codes may be another on purpose: the one that makes products unbiased, or lengths equal.
  const double factor = (s.norm.mean() * s.norm.mean() + s.norm.variance()) / s.alignment.mean();
  const double unbiased = std::abs(s.alignment.mean() - 1) - half_width(s.alignment, independent);
  const double matched = std::abs(s.norm.mean() - 1) - half_width(s.norm, independent);
  const double off_factor = std::abs(factor - 1) - half_width(s.alignment, independent) / s.alignment.mean();
  if (!result.faulty() && !own_scale && isotropic && off_factor > kLength && unbiased > kLength / 4 &&
      matched > kLength / 4) {
    result.findings.push_back(
        {false, "length",
         fmt::format(
             "x_hat is {:.1f} % too {} for its directions: <x_hat, x> / |x|^2 = {:.4g} where 1 - D is {:.4g}, so "
             "products are off by as much, at {:.1f} % more error",
             100 * std::abs(factor - 1), factor > 1 ? "long" : "short", s.alignment.mean(), 1 - s.direction.mean(),
             100 * (s.error.mean() / s.direction.mean() - 1))});
  }

  // An error this far above the median takes a coordinate beyond the outermost level by sqrt(far / 2) or more (two such
  // share it): by the union bound that has probability `chance` under the law. Four times as often, and once in a
  // thousand, is no chance.
  const double far = std::min(10 * optimum, 0.5 * (1 - levels.back()) * (1 - levels.back()));
  const double limit = sorted[sorted.size() / 2] + far;
  const auto count = static_cast<double>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), limit));
  const double n = static_cast<double>(sorted.size());
  const double chance =
      std::min(1.0, 2 * static_cast<double>(dim) * law.upper_tail(levels.back() + std::sqrt(far / 2)));
  const bool usual = sorted[sorted.size() / 2] < 1.25 * bounds::unbiased_variance_times_d(good);
  if (usual && independent > 100 && count > 4 * n * chance + 5 * std::sqrt(n * chance) + std::max(3.0, n / 1000)) {
    fault(
        "tail",
        fmt::format("{} of {} vectors have an error above {:.4g}, the largest {:.4g}, where the median is {:.4g}: the "
                    "rotation depends on the data (one seed for both?) or does not mix these vectors",
                    count, sorted.size(), limit, sorted.back(), sorted[sorted.size() / 2]));
  }
  return result;
}

}  // namespace orthant::validation

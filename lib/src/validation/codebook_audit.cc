#include "orthant/validation/codebook_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/density/density.h"
#include "orthant/density/gaussian.h"
#include "orthant/density/sphere_coordinate.h"
#include "validation/written_precision.h"

namespace orthant::validation {
namespace {

using density::CellMoments;
using density::DensityView;
using Values = std::vector<double>;

/// Dimensions a table may have been made for, beside those derived from the table itself.
constexpr std::int64_t kUsualDims[] = {2,   3,   4,   5,   6,    8,    12,   16,   24,   32,   40,   48,  64,  72,
                                       80,  96,  100, 112, 120,  128,  160,  192,  200,  256,  300,  320, 384, 512,
                                       576, 640, 768, 960, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 8192};

/// The law a table is judged on, or compared with. dim = 0: N(0, 1).
class Law {
 public:
  explicit Law(std::int64_t dim) : dim_(dim), sphere_(std::max<std::int64_t>(dim, 1)) {}

  DensityView view() const { return dim_ == 0 ? DensityView(gaussian_) : DensityView(sphere_); }
  double scale() const { return dim_ == 0 ? 1 : static_cast<double>(dim_); }  ///< 1 / variance
  Values optimum(int bits) const {
    const codebook::LloydMaxResult result =
        dim_ == 0 ? codebook::lloyd_max(gaussian_, {.bits = bits}) : codebook::lloyd_max(sphere_, {.bits = bits});
    return {result.codebook.centroids().begin(), result.codebook.centroids().end()};
  }
  std::string name() const { return dim_ == 0 ? "N(0, 1)" : fmt::format("the sphere, d = {}", dim_); }

 private:
  std::int64_t dim_;
  density::Gaussian gaussian_;
  density::SphereCoordinate sphere_;
};

Values midpoints(const Values& c) {
  Values t;
  for (std::size_t i = 1; i < c.size(); ++i) t.push_back(std::midpoint(c[i - 1], c[i]));
  return t;
}

std::vector<CellMoments> cells(const Law& law, const Values& c, const Values& t) {
  const auto [lower, upper] = law.view().support();
  std::vector<CellMoments> all;
  for (std::size_t k = 0; k < c.size(); ++k) {
    all.push_back(law.view().cell_moments(c[k], k == 0 ? lower : t[k - 1], k + 1 == c.size() ? upper : t[k]));
  }
  return all;
}

double relative_distortion(const Law& law, const std::vector<CellMoments>& all) {
  long double sum = 0;
  for (const CellMoments& cell : all) sum += cell.second;
  return static_cast<double>(sum) * law.scale();
}

double distortion(const Law& law, const Values& c) { return relative_distortion(law, cells(law, c, midpoints(c))); }

/// The factor s that minimises E (X - s q(X))^2 over tables s c, thresholds following: E[X q] = s E[q^2] iterated.
double best_scale(const Law& law, const Values& c) {
  double s = 1;
  for (int i = 0; i < 200; ++i) {
    Values scaled = c;
    for (double& x : scaled) x *= s;
    long double product = 0;
    long double square = 0;
    const std::vector<CellMoments> all = cells(law, scaled, midpoints(scaled));
    for (std::size_t k = 0; k < c.size(); ++k) {
      const long double x = scaled[k];
      product += x * (all[k].first + x * all[k].mass);
      square += x * x * all[k].mass;
    }
    if (!(square > 0)) return s;
    const double step = static_cast<double>(product / square);
    s *= step;
    if (std::abs(step - 1) < 1e-12) break;
  }
  return s;
}

/// Lloyd sweeps from equal-probability quantiles until the distortion is no more than `target`; nothing beyond `most`.
std::optional<int> sweeps_to(const Law& law, std::size_t levels, double target, int most) {
  Values c(levels);
  // Quantiles (k + 1/2) / N, each by bisection from the one before: the start every such implementation writes.
  const auto [lower, upper] = law.view().support();
  double previous = lower;
  for (std::size_t k = 0; k < levels; ++k) {
    const double wanted = (k == 0 ? 0.5 : 1.0) / static_cast<double>(levels);
    double low = std::max(previous, -40.0);
    double high = std::min(upper, 40.0);
    for (int i = 0; i < 60; ++i) {
      const double middle = std::midpoint(low, high);
      (static_cast<double>(law.view().cell_moments(0, previous, middle).mass) < wanted ? low : high) = middle;
    }
    previous = c[k] = std::midpoint(low, high);
  }
  for (int sweep = 0; sweep <= most; ++sweep) {
    const std::vector<CellMoments> all = cells(law, c, midpoints(c));
    if (relative_distortion(law, all) <= target) return sweep;
    for (std::size_t k = 0; k < levels; ++k) {
      if (all[k].mass > 0) c[k] += static_cast<double>(all[k].first / all[k].mass);
    }
  }
  return std::nullopt;
}

/// What is known while the findings are written.
struct Case {
  Values table;       ///< sorted
  Values tolerances;  ///< of the sorted levels
  Values optimum;
  double sigma = 1;

  bool matches(const Values& other) const {
    for (std::size_t k = 0; k < table.size(); ++k) {
      if (std::abs(table[k] - other[k]) > tolerances[k]) return false;
    }
    return true;
  }
};

Values scaled(Values values, double factor) {
  for (double& x : values) x *= factor;
  return values;
}

/// Least-squares factor s of table = s * shape.
double fitted_factor(const Values& table, const Values& shape) {
  return std::inner_product(table.begin(), table.end(), shape.begin(), 0.0) /
         std::inner_product(shape.begin(), shape.end(), shape.begin(), 0.0);
}

std::int64_t nearest_usual_dim(double estimate) {
  std::int64_t best = kUsualDims[0];
  for (const std::int64_t d : kUsualDims) {
    if (std::abs(std::log(static_cast<double>(d) / estimate)) <
        std::abs(std::log(static_cast<double>(best) / estimate))) {
      best = d;
    }
  }
  return best;
}

/// The dimension d whose sphere's optimum the table is, within its rounding. Its scale against the optimum of a guess
/// gives the next guess, since the variance is 1 / d; the shape changes little from one guess to the next.
std::optional<std::int64_t> matching_dim(const Case& c, double estimate, int bits) {
  const auto clamped = [](double d) {
    return std::llround(std::clamp(d, 2.0, static_cast<double>(density::SphereCoordinate::kMaxDim)));
  };
  const std::int64_t usual = nearest_usual_dim(estimate);
  if (c.matches(Law(usual).optimum(bits))) return usual;
  std::int64_t dim = clamped(estimate);
  constexpr int kMostGuesses = 12;
  for (int guess = 0; guess < kMostGuesses; ++guess) {
    const Values optimum = Law(dim).optimum(bits);
    if (c.matches(optimum)) return dim;
    const double factor = fitted_factor(c.table, optimum);
    if (!(factor > 0)) return std::nullopt;
    const std::int64_t next = clamped(static_cast<double>(dim) / (factor * factor));
    if (next == dim) return std::nullopt;
    dim = next;
  }
  return std::nullopt;
}

/// The law a table of unknown purpose was made for: the one it is the optimum of, or else the closest by distortion.
std::int64_t inferred_dim(const Case& c, int bits) {
  const Values gaussian = Law(0).optimum(bits);
  const double s = fitted_factor(c.table, gaussian);
  if (!(s > 0) || s > 0.8) return 0;
  const double estimate = 1 / (s * s);
  if (const auto dim = matching_dim(c, estimate, bits)) return *dim;
  if (c.matches(scaled(gaussian, s)) && estimate >= 2 && estimate < 1e9) return std::llround(estimate);
  const std::int64_t usual = nearest_usual_dim(estimate);
  std::int64_t best = usual;
  double least = std::numeric_limits<double>::infinity();
  // Up to d = 16 the shape is far from the Gaussian's, and so is the estimate.
  for (std::int64_t d = usual <= 16 ? 2 : usual / 2; d <= usual * 2; ++d) {
    if (d != usual && std::find(std::begin(kUsualDims), std::end(kUsualDims), d) == std::end(kUsualDims)) continue;
    const Law law(d);
    const double excess = distortion(law, c.table) / distortion(law, law.optimum(bits));
    if (excess < least) {
      least = excess;
      best = d;
    }
  }
  return best;
}

/// The dimension d' other than `dim` whose sphere's optimum the table is.
std::optional<std::int64_t> other_sphere(const Case& c, std::int64_t dim, double estimate, int bits) {
  const auto found = matching_dim(c, estimate, bits);
  if (found && *found != dim) return found;
  return std::nullopt;
}

class Audit {
 public:
  Audit(const CodebookTable& table, CodebookAudit& report) : table_(table), report_(report) {}

  void run() {
    if (!count_and_finite()) return;
    order();
    const Law law(report_.dim);
    judge(law);
    thresholds(law);
  }

 private:
  void find(CodebookFault fault, std::string text) { report_.findings.push_back({fault, std::move(text)}); }

  bool count_and_finite() {
    const std::size_t n = table_.centroids.size();
    const auto bad =
        std::find_if(table_.centroids.begin(), table_.centroids.end(), [](double x) { return !std::isfinite(x); });
    if (bad != table_.centroids.end()) {
      find(CodebookFault::kNotFinite, fmt::format("level {} is {}", bad - table_.centroids.begin(), *bad));
    }
    report_.bits = table_.bits.value_or(std::bit_width(n) - 1);
    if (report_.bits < 0 || report_.bits > 10 || n != std::size_t{1} << report_.bits) {
      find(CodebookFault::kCount, table_.bits ? fmt::format("{} levels, {} bits need {}", n, *table_.bits,
                                                            std::size_t{1} << std::clamp(*table_.bits, 0, 20))
                                              : fmt::format("{} levels, not a power of two", n));
    }
    return report_.findings.empty();
  }

  void order() {
    const WrittenPrecision written = written_precision(table_.centroids);
    report_.written_as = written.name;
    // A correct table may also have gone through single precision arithmetic: four of its units.
    constexpr double kSingle = 4 * 0x1p-24;
    std::vector<std::size_t> by_value(table_.centroids.size());
    std::iota(by_value.begin(), by_value.end(), std::size_t{0});
    std::ranges::sort(by_value, {}, [&](std::size_t k) { return std::pair(table_.centroids[k], k); });
    for (const std::size_t k : by_value) {
      case_.table.push_back(table_.centroids[k]);
      case_.tolerances.push_back(std::max(written.half_units[k] * (1 + 1e-9), kSingle * std::abs(table_.centroids[k])));
    }
    for (std::size_t k = 1; k < table_.centroids.size(); ++k) {
      if (!(table_.centroids[k] < table_.centroids[k - 1])) continue;
      find(CodebookFault::kUnsorted, fmt::format("level {} = {:.9g} comes after {:.9g}; judged in ascending order", k,
                                                 table_.centroids[k], table_.centroids[k - 1]));
      break;
    }
    for (std::size_t k = 1; k < case_.table.size(); ++k) {
      if (case_.table[k] != case_.table[k - 1]) continue;
      find(CodebookFault::kDuplicate, fmt::format("level {:.9g} occurs twice: one code is never used (written with {})",
                                                  case_.table[k], report_.written_as));
      break;
    }
    report_.dim_inferred = !table_.dim;
    report_.dim = table_.dim ? *table_.dim : inferred_dim(case_, report_.bits);
  }

  void judge(const Law& law) {
    Case& c = case_;
    c.optimum = law.optimum(report_.bits);
    c.sigma = std::sqrt(1 / law.scale());
    const std::vector<CellMoments> all = cells(law, c.table, midpoints(c.table));
    report_.distortion = relative_distortion(law, all);
    report_.optimal_distortion = distortion(law, c.optimum);
    for (std::size_t k = 0; k < c.table.size(); ++k) {
      if (all[k].mass > 0) {
        report_.residual =
            std::max(report_.residual, static_cast<double>(std::abs(all[k].first / all[k].mass)) / c.sigma);
      }
      const double error = std::abs(c.table[k] - c.optimum[k]);
      if (k == 0 || error * report_.tolerance > c.tolerances[k] * report_.largest_error) {
        report_.largest_error = error;
        report_.tolerance = c.tolerances[k];
      }
    }
    report_.largest_error /= c.sigma;
    report_.tolerance /= c.sigma;
    report_.excess =
        report_.optimal_distortion > 0 ? report_.distortion / report_.optimal_distortion - 1 : report_.distortion;
    if (c.matches(c.optimum)) return;
    if (report_.dim == 1) {
      if (report_.distortion > 0)
        find(CodebookFault::kNotConverged, "d = 1 has the values -1 and 1 alone: both must be levels");
      return;
    }
    if (report_.bits == 0) {
      find(CodebookFault::kNotConverged, fmt::format("the single level is {:.9g}, the mean is 0", c.table.front()));
      return;
    }
    report_.best_scale = best_scale(law, c.table);
    if (another_optimum(law)) return;  // what follows from it is not told again
    empty_cells(all);
    asymmetry();
    if (!scale(law)) convergence(law);
  }

  void empty_cells(const std::vector<CellMoments>& all) {
    // Below 1e-15 of the probability no code of any real data set is expected.
    const auto empty =
        std::count_if(all.begin(), all.end(), [](const CellMoments& cell) { return cell.mass < 1e-15L; });
    if (empty > 0) {
      find(CodebookFault::kEmptyCell,
           fmt::format("{} of {} levels are never reached (probability below 1e-15)", empty, all.size()));
    }
  }

  void asymmetry() {
    const Values& c = case_.table;
    double largest = 0;
    std::size_t where = 0;
    for (std::size_t k = 0; k < c.size() / 2; ++k) {
      const std::size_t mirror = c.size() - 1 - k;
      const double defect = std::abs(c[k] + c[mirror]) - case_.tolerances[k] - case_.tolerances[mirror];
      if (defect > largest) {
        largest = defect;
        where = k;
      }
    }
    if (largest > 0) {
      find(CodebookFault::kAsymmetric, fmt::format("levels {} and {} are {:.9g} and {:.9g}: the law is symmetric",
                                                   where, c.size() - 1 - where, c[where], c[c.size() - 1 - where]));
    }
  }

  /// True when the table is the optimum, within its rounding, of another scale or law.
  bool another_optimum(const Law& law) {
    const std::int64_t dim = report_.dim;
    const Values gaussian = Law(0).optimum(report_.bits);
    const std::string cost = fmt::format("distortion {:.6g} instead of {:.6g} ({:+.3g} %)", report_.distortion,
                                         report_.optimal_distortion, 100 * report_.excess);
    const auto root = [](std::int64_t d) { return std::sqrt(static_cast<double>(d)); };
    if (dim > 0 && case_.matches(scaled(gaussian, 1 / root(dim)))) {
      find(CodebookFault::kWrongLaw, fmt::format("the table of N(0, 1/{}), not of {}: {}", dim, law.name(), cost));
      return true;
    }
    if (dim > 0 && (case_.matches(gaussian) || case_.matches(scaled(case_.optimum, root(dim))))) {
      find(CodebookFault::kScale, fmt::format("made for unit variance, used on coordinates of variance 1/{}: divide by "
                                              "sqrt({}); {}",
                                              dim, dim, cost));
      return true;
    }
    const double s = fitted_factor(case_.table, gaussian);
    if (!(s > 0)) return false;
    const double estimate = 1 / (s * s);
    if (const auto other = other_sphere(case_, dim, estimate, report_.bits)) {
      find(CodebookFault::kScale, fmt::format("the optimal table of d = {}, used on {}: {}", *other, law.name(), cost));
      return true;
    }
    if (case_.matches(scaled(gaussian, s)) && std::abs(estimate / law.scale() - 1) > 1e-3) {
      const auto other = std::llround(estimate);
      find(CodebookFault::kScale, fmt::format("the table of N(0, 1/{:.6g}){}, used on {}: {}", estimate,
                                              other >= 1 && std::abs(estimate / static_cast<double>(other) - 1) < 1e-3
                                                  ? fmt::format(": scaled for d = {}", other)
                                                  : "",
                                              law.name(), cost));
      return true;
    }
    return false;
  }

  /// A table of another scale: rescaling alone wins back three quarters of what is lost, or nearly all of it where the
  /// scale is off by little. True when nothing else is left to tell.
  bool scale(const Law& law) {
    constexpr double kNearlyAll = 0.02;
    const double rescaled = distortion(law, scaled(case_.table, report_.best_scale));
    const double left = (rescaled / report_.optimal_distortion - 1) / report_.excess;
    const bool off_by_much = std::abs(report_.best_scale - 1) > 0.05;
    if (!(left < (off_by_much ? 0.25 : kNearlyAll))) return false;
    find(CodebookFault::kScale,
         fmt::format("multiplying by {:.6g} lowers the distortion from {:.6g} to {:.6g}: the scale fits d = {:.4g}",
                     report_.best_scale, report_.distortion, rescaled,
                     law.scale() * report_.best_scale * report_.best_scale));
    return left < kNearlyAll;
  }

  void convergence(const Law& law) {
    constexpr int kMostSweeps = 2000;
    // The outermost level of either end, whichever is further off.
    const auto off = [](double level, double optimum) { return level / optimum - 1; };
    const double first = off(case_.table.front(), case_.optimum.front());
    const double last = off(case_.table.back(), case_.optimum.back());
    const bool at_first = std::abs(first) > std::abs(last);
    report_.lloyd_sweeps = sweeps_to(law, case_.table.size(), report_.distortion, kMostSweeps);
    const std::string sweeps =
        !report_.lloyd_sweeps        ? fmt::format("as after more than {} Lloyd sweeps from quantiles", kMostSweeps)
        : *report_.lloyd_sweeps == 0 ? std::string("no better than the quantiles that Lloyd sweeps start from")
                                     : fmt::format("as after {} Lloyd sweep{} from quantiles", *report_.lloyd_sweeps,
                                                   *report_.lloyd_sweeps == 1 ? "" : "s");
    find(CodebookFault::kNotConverged,
         fmt::format("a level lies {:.3g} standard deviations from the mean of its cell; distortion {:.6g} instead of "
                     "{:.6g} ({:+.3g} %), {}; outer level {:.6g} instead of {:.6g} ({:+.3g} %)",
                     report_.residual, report_.distortion, report_.optimal_distortion, 100 * report_.excess, sweeps,
                     at_first ? case_.table.front() : case_.table.back(),
                     at_first ? case_.optimum.front() : case_.optimum.back(), 100 * (at_first ? first : last)));
  }

  void thresholds(const Law& law) {
    if (table_.boundaries.empty()) return;
    if (table_.boundaries.size() + 1 != case_.table.size()) {
      find(CodebookFault::kThresholds, fmt::format("{} thresholds, {} levels need {}", table_.boundaries.size(),
                                                   case_.table.size(), case_.table.size() - 1));
      return;
    }
    const bool usable =
        std::all_of(table_.boundaries.begin(), table_.boundaries.end(), [](double t) { return std::isfinite(t); }) &&
        std::is_sorted(table_.boundaries.begin(), table_.boundaries.end());
    if (!usable) {
      find(CodebookFault::kThresholds, "thresholds are not finite and ascending");
      return;
    }
    const WrittenPrecision written = written_precision(table_.boundaries);
    const Values middle = midpoints(case_.table);
    double largest = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const double allowed =
          written.half_units[i] * (1 + 1e-9) + std::max(case_.tolerances[i], case_.tolerances[i + 1]);
      const double defect = std::abs(table_.boundaries[i] - middle[i]) - allowed;
      if (defect > largest) {
        largest = defect;
        where = i;
      }
    }
    const double own = relative_distortion(law, cells(law, case_.table, table_.boundaries));
    if (largest > 0) {
      find(CodebookFault::kThresholds,
           fmt::format(
               "threshold {} is {:.9g}, the midpoint of its levels is {:.9g}; distortion {:.6g}, with midpoints {:.6g}",
               where, table_.boundaries[where], middle[where], own, report_.distortion));
    }
    report_.distortion = own;
    report_.excess = report_.optimal_distortion > 0 ? own / report_.optimal_distortion - 1 : own;
  }

  const CodebookTable& table_;
  CodebookAudit& report_;
  Case case_;
};

}  // namespace

std::string to_string(CodebookFault fault) {
  switch (fault) {
    case CodebookFault::kCount:
      return "number of levels";
    case CodebookFault::kNotFinite:
      return "not finite";
    case CodebookFault::kUnsorted:
      return "unsorted";
    case CodebookFault::kDuplicate:
      return "duplicate level";
    case CodebookFault::kEmptyCell:
      return "empty cell";
    case CodebookFault::kAsymmetric:
      return "asymmetric";
    case CodebookFault::kScale:
      return "scale";
    case CodebookFault::kWrongLaw:
      return "wrong law";
    case CodebookFault::kNotConverged:
      return "not converged";
    case CodebookFault::kThresholds:
      return "thresholds";
  }
  return "";
}

CodebookAudit audit_codebook(const CodebookTable& table) {
  if (table.centroids.empty() || table.centroids.size() > kMostLevels) {
    throw_invalid_argument("audit codebook", "number of levels", std::to_string(table.centroids.size()),
                           fmt::format("1 to {}", kMostLevels));
  }
  if (table.dim && (*table.dim < 0 || *table.dim > density::SphereCoordinate::kMaxDim)) {
    throw_invalid_argument("audit codebook", "dim", std::to_string(*table.dim), "0 (Gaussian) to 1000000000");
  }
  CodebookAudit report;
  Audit(table, report).run();
  return report;
}

}  // namespace orthant::validation

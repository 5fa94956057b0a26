#include "orthant/codebook/lloyd_max.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "codebook/extended_solve.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

using density::CellMoments;
using density::DensityView;

using Values = std::vector<long double>;

/// The levels being solved for, all of them or the positive half, and the outer ends of their cells.
struct Problem {
  DensityView law;
  long double lower;
  long double upper;
  double sigma;

  long double edge(const Values& c, std::size_t i) const {
    if (i == 0) return lower;
    return i == c.size() ? upper : (c[i - 1] + c[i]) / 2;
  }
  std::vector<CellMoments> cells(const Values& c) const {
    std::vector<CellMoments> m(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) m[i] = law.cell_moments(c[i], edge(c, i), edge(c, i + 1));
    return m;
  }
};

/// Quantiles (k + 1/2) / n of f^{1/3}, by the midpoint rule: it only has to start Newton's method.
Values companding_start(const Problem& problem, std::size_t n) {
  constexpr std::size_t kSteps = 2048;
  const double reach = 40 * problem.sigma;  // chosen: f^{1/3} of a Laplace law has its 1e-8 quantile inside
  const double mean = problem.law.mean();
  const double low = std::max(static_cast<double>(problem.lower), mean - reach);
  const double high = std::min(static_cast<double>(problem.upper), mean + reach);
  const double step = (high - low) / kSteps;
  std::vector<double> below(kSteps + 1, 0.0);
  for (std::size_t j = 0; j < kSteps; ++j) {
    below[j + 1] = below[j] + std::cbrt(problem.law.pdf(low + (static_cast<double>(j) + 0.5) * step));
  }
  Values c(n);
  std::size_t j = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double target = below.back() * (static_cast<double>(k) + 0.5) / static_cast<double>(n);
    while (below[j + 1] < target) ++j;
    c[k] = low + step * (static_cast<double>(j) + (target - below[j]) / (below[j + 1] - below[j]));
  }
  return c;
}

/// sum_k (c_k - E[X | cell k])^2; infinity when a cell is empty.
long double merit(const std::vector<CellMoments>& cells) {
  long double sum = 0;
  for (const CellMoments& cell : cells) sum += cell.first / cell.mass * (cell.first / cell.mass);
  return std::isnan(sum) ? HUGE_VALL : sum;
}

/// Newton step of F_k(c) = c_k - E[X | cell k] = 0, whose Jacobian is tridiagonal. With m_k = E[X | cell k],
///   J_{k,k-1} = -f(t_k) (m_k - t_k) / (2 P_k),   J_{k,k+1} = -f(t_{k+1}) (t_{k+1} - m_k) / (2 P_k),
///   J_kk = 1 + J_{k,k-1} + J_{k,k+1},  the ends that cannot move left out.
/// For log-concave laws every row sum of J is positive (Fleischer 1964), so elimination needs no pivoting.
Values newton_step(const Problem& problem, const Values& c, const std::vector<CellMoments>& cells) {
  const std::size_t n = c.size();
  const auto pull = [&](std::size_t k, std::size_t edge) {  // d m_k / d c of the neighbour across this edge
    if (edge == 0 || edge == n) return 0.0L;
    const long double t = problem.edge(c, edge);
    const long double mean = c[k] + cells[k].first / cells[k].mass;
    return static_cast<long double>(problem.law.pdf(static_cast<double>(t))) * std::abs(t - mean) / (2 * cells[k].mass);
  };
  Values above(n, 0.0L);
  Values delta(n, 0.0L);
  for (std::size_t k = 0; k < n; ++k) {
    const long double left = pull(k, k);
    const long double right = pull(k, k + 1);
    const long double above_left = k == 0 ? 0 : above[k - 1];
    const long double delta_left = k == 0 ? 0 : delta[k - 1];
    const long double pivot = 1 - left - right + left * above_left;
    above[k] = -right / pivot;
    delta[k] = (cells[k].first / cells[k].mass + left * delta_left) / pivot;
  }
  for (std::size_t k = n - 1; k > 0; --k) delta[k - 1] -= above[k - 1] * delta[k];
  return delta;
}

bool increasing_inside(const Problem& problem, const Values& c) {
  const bool rising = std::adjacent_find(c.begin(), c.end(), std::not_fn(std::less<>())) == c.end();
  return rising && c.front() > problem.lower && c.back() < problem.upper;
}

struct Solution {
  Values centroids;
  std::vector<CellMoments> cells;
  int iterations = 0;
  double last_change = 0;
};

Solution solve(const Problem& problem, std::size_t n, int max_iterations) {
  constexpr double kSettled = 1e-17;  // a step below this, in standard deviations, cannot change a double any more
  Solution s{companding_start(problem, n), {}};
  s.cells = problem.cells(s.centroids);
  while (s.iterations < max_iterations) {
    const Values delta = newton_step(problem, s.centroids, s.cells);
    const long double before = merit(s.cells);
    Values moved(n);
    std::vector<CellMoments> moved_cells;
    bool better = false;
    for (long double scale = 1; scale > 1e-6L && !better; scale /= 2) {
      for (std::size_t k = 0; k < n; ++k) moved[k] = s.centroids[k] + scale * delta[k];
      if (!increasing_inside(problem, moved)) continue;
      moved_cells = problem.cells(moved);
      better = merit(moved_cells) < before;
    }
    if (!better) break;  // only rounding noise is left
    ++s.iterations;
    s.last_change = 0;
    for (std::size_t k = 0; k < n; ++k) {
      s.last_change = std::max(s.last_change, static_cast<double>(std::abs(moved[k] - s.centroids[k])) / problem.sigma);
    }
    s.centroids = std::move(moved);
    s.cells = std::move(moved_cells);
    if (s.last_change <= kSettled) break;
  }
  return s;
}

/// Levels that need no iteration.
Solution known_solution(const Problem& problem, const Values& levels) { return {levels, problem.cells(levels)}; }

void require_options(const LloydMaxOptions& options) {
  if (options.bits < 0 || options.bits > 10) {
    throw_invalid_argument("lloyd_max", "bits", std::to_string(options.bits), "0 to 10");
  }
  if (!(options.tolerance > 0)) {
    throw_invalid_argument("lloyd_max", "tolerance", std::to_string(options.tolerance), "a positive number");
  }
  if (options.max_iterations < 1) {
    throw_invalid_argument("lloyd_max", "max_iterations", std::to_string(options.max_iterations), "1 or more");
  }
}

double largest_residual(const Problem& problem, const Values& levels) {
  double residual = 0;
  for (const CellMoments& cell : problem.cells(levels)) {
    if (cell.mass > 0) residual = std::max(residual, static_cast<double>(std::abs(cell.first / cell.mass)));
  }
  return residual / problem.sigma;
}

/// Rounds the levels; distortion, entropy and probabilities are measured before, the residual after. A problem of the
/// positive half stands for both, and each of its cells for two.
LloydMaxResult finish(const Problem& problem, const LloydMaxOptions& options, const Solution& solution) {
  const Values& levels = solution.centroids;
  const bool half = levels.size() != std::size_t{1} << options.bits;
  Values rounded;
  std::vector<double> centroids;
  std::vector<double> boundaries;
  std::vector<double> probabilities;
  long double distortion = 0;
  long double entropy = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const CellMoments& cell = solution.cells[k];
    centroids.push_back(static_cast<double>(levels[k]));
    rounded.push_back(centroids.back());
    if (k > 0) boundaries.push_back(static_cast<double>((levels[k - 1] + levels[k]) / 2));
    probabilities.push_back(static_cast<double>(cell.mass));
    distortion += cell.second;
    if (cell.mass > 0) entropy -= cell.mass * std::log2(cell.mass);
  }
  if (half) {
    const auto mirror = [](std::vector<double> upper, double sign, std::initializer_list<double> middle) {
      std::vector<double> all;
      for (auto v = upper.rbegin(); v != upper.rend(); ++v) all.push_back(sign * *v);
      all.insert(all.end(), middle);
      all.insert(all.end(), upper.begin(), upper.end());
      return all;
    };
    centroids = mirror(std::move(centroids), -1, {});
    boundaries = mirror(std::move(boundaries), -1, {0.0});
    probabilities = mirror(std::move(probabilities), 1, {});
    distortion *= 2;
    entropy *= 2;
  }
  const double residual = largest_residual(problem, rounded);
  const double rounded_entropy = std::clamp(static_cast<double>(entropy), 0.0, static_cast<double>(options.bits));
  Codebook book(problem.law.name(), problem.law.dim(), options.bits, std::move(centroids), std::move(boundaries),
                static_cast<double>(distortion), rounded_entropy);
  const bool converged = residual <= options.tolerance;
  return {std::move(book),
          converged ? Termination::kConverged : Termination::kIterationLimit,
          solution.iterations,
          solution.last_change,
          residual,
          std::move(probabilities)};
}

}  // namespace

LloydMaxResult lloyd_max(DensityView law, const LloydMaxOptions& options) {
  require_options(options);
  const std::size_t levels = std::size_t{1} << options.bits;
  const auto [lower, upper] = law.support();
  const bool half = law.symmetric() && levels > 1;
  const Problem problem{law, half ? 0.0L : lower, upper, std::sqrt(law.variance())};
  if (levels == 1) return finish(problem, options, known_solution(problem, {static_cast<long double>(law.mean())}));
  return finish(problem, options, solve(problem, half ? levels / 2 : levels, options.max_iterations));
}

LloydMaxResult lloyd_max(const density::SphereCoordinate& law, const LloydMaxOptions& options) {
  const bool closed_form = law.dim() == 1 || law.dim() == 3;
  if (!closed_form) return lloyd_max(DensityView(law), options);
  require_options(options);
  const int n = 1 << options.bits;
  const int span = law.dim() == 1 && n > 1 ? n - 1 : n;
  Values levels;
  for (int k = 0; k < n; ++k) levels.push_back(static_cast<long double>(2 * k + 1 - n) / span);
  const DensityView view(law);
  const auto [lower, upper] = view.support();
  const Problem problem{view, lower, upper, std::sqrt(view.variance())};
  return finish(problem, options, known_solution(problem, levels));
}

double centroid_residual(DensityView law, const Codebook& book) {
  const auto [lower, upper] = law.support();
  const Problem problem{law, lower, upper, std::sqrt(law.variance())};
  return largest_residual(problem, Values(book.centroids().begin(), book.centroids().end()));
}

namespace {

/// dim = 0: the Gaussian.
Codebook correctly_rounded(std::int64_t dim, int bits) {
  Codebook solved = dim == 0 ? lloyd_max(density::Gaussian(), {.bits = bits}).codebook
                             : lloyd_max(density::SphereCoordinate(dim), {.bits = bits}).codebook;
  if (bits == 0 || dim == 1) return solved;
  RoundedSolution rounded = rounded_solve(dim, solved.centroids().subspan(solved.size() / 2));
  return Codebook(solved.density(), dim, bits, std::move(rounded.centroids), std::move(rounded.boundaries),
                  rounded.distortion, rounded.entropy);
}

/// Solved once in each process.
Codebook kept(std::int64_t dim, int bits) {
  static std::mutex mutex;
  static std::map<std::pair<std::int64_t, int>, Codebook> known;
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find({dim, bits});
    if (found != known.end()) return found->second;
  }
  Codebook solved = correctly_rounded(dim, bits);
  const std::lock_guard lock(mutex);
  return known.try_emplace({dim, bits}, std::move(solved)).first->second;
}

}  // namespace

Codebook sphere_codebook(std::int64_t dim, int bits) {
  const density::SphereCoordinate law(dim);  // refuses what is no dimension
  return kept(law.dim(), bits);
}

Codebook gaussian_codebook(int bits) { return kept(0, bits); }

}  // namespace orthant::codebook

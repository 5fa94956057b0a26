#include "codebook/enclosure.h"

#include <cstddef>
#include <string>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

struct Primitives {
  Ball pdf;
  Ball zeroth;
  Ball first;
  Ball second;
};

class Law {
 public:
  explicit Law(std::int64_t dim) : dim_(dim) {
    if (dim == 0) {
      normalizer_ = Ball(1) / sqrt(Ball(2) * Ball::pi());
      deviation_ = Ball(1);
    } else {
      normalizer_ = exp(log_gamma(Ball(dim) / Ball(2)) - log_gamma(Ball(dim - 1) / Ball(2))) / sqrt(Ball::pi());
      deviation_ = Ball(1) / sqrt(Ball(dim));
    }
  }

  const Ball& standard_deviation() const { return deviation_; }
  Primitives at_zero() const { return {normalizer_, Ball(0), Ball(0), Ball(0)}; }
  Primitives at_end() const {
    const Ball half(0.5);
    if (dim_ == 0) return {Ball(0), half, normalizer_, half};
    return {Ball(0), half, normalizer_ / Ball(dim_ - 1), half / Ball(dim_)};
  }
  Primitives at(const Ball& x) const {
    const Ball y = x * x;
    if (dim_ == 0) {
      const Ball phi = normalizer_ * exp(-y / Ball(2));
      const Ball zeroth = erf(x / sqrt(Ball(2))) / Ball(2);
      return {phi, zeroth, normalizer_ - phi, zeroth - x * phi};
    }
    const Ball complement = Ball(1) - y;
    const Ball power = exp(log(complement) * Ball(dim_ - 1) / Ball(2));  // (1 - x^2)^{(d-1)/2}
    const Ball zeroth = normalizer_ * integral(x, y, complement, power);
    return {normalizer_ * power / complement, zeroth, normalizer_ / Ball(dim_ - 1) * (Ball(1) - power),
            (zeroth - normalizer_ * x * power) / Ball(dim_)};
  }

 private:
  /// integral_0^x (1 - s^2)^{(d-3)/2} ds: J_a = (x (1-x^2)^a + 2a J_{a-1}) / (2a + 1) for small d, else the series
  /// x (1-x^2)^p sum_n t_n, t_n = (d/2)_n / (3/2)_n y^n. The ratio t_{n+1} / t_n = y (d + 2n) / (3 + 2n) = q_n falls
  /// with n (d > 3), so that the terms after t_n sum to at most t_n q_n / (1 - q_n).
  Ball integral(const Ball& x, const Ball& y, const Ball& complement, const Ball& power) const {
    constexpr std::int64_t kRecursionEnd = 256;
    if (dim_ < kRecursionEnd) {
      const bool even = dim_ % 2 == 0;
      Ball value = even ? asin(x) : x;
      Ball rising = even ? sqrt(complement) : complement;
      for (std::int64_t twice_a = even ? 1 : 2; twice_a <= dim_ - 3; twice_a += 2) {
        value = (x * rising + Ball(twice_a) * value) / Ball(twice_a + 1);
        rising = rising * complement;
      }
      return value;
    }
    const Ball negligible = exp(-Ball(std::int64_t{Ball::precision()}) * log(Ball(2)));
    const Ball three_quarters(0.75);
    Ball term(1);
    Ball sum(1);
    for (std::int64_t n = 0; n < 1'000'000; ++n) {
      const Ball ratio = y * Ball(dim_ + 2 * n) / Ball(3 + 2 * n);
      if (certainly_less(ratio, three_quarters) && certainly_less(term, negligible * sum)) {
        return x * power * sum.widened(term * ratio / (Ball(1) - ratio));
      }
      term = term * ratio;
      sum = sum + term;
    }
    throw Error("enclosure: the series of M0 does not converge");
  }

  std::int64_t dim_;
  Ball normalizer_;
  Ball deviation_;
};

struct Cells {
  std::vector<Primitives> edges;
  std::vector<Ball> boundaries;  ///< edge i, i = 0 .. n - 1; edge 0 is the centre
  std::vector<Ball> mass;
};

Cells measure(const Law& law, const std::vector<Ball>& c) {
  Cells cells;
  cells.edges.push_back(law.at_zero());
  cells.boundaries.emplace_back(0);
  for (std::size_t i = 1; i < c.size(); ++i) {
    cells.boundaries.push_back((c[i - 1] + c[i]) / Ball(2));
    cells.edges.push_back(law.at(cells.boundaries[i]));
  }
  cells.edges.push_back(law.at_end());
  for (std::size_t k = 0; k < c.size(); ++k) cells.mass.push_back(cells.edges[k + 1].zeroth - cells.edges[k].zeroth);
  return cells;
}

/// J_{k,k-1} = off[k], J_{k,k+1} = off[k + 1], J_kk = diagonal[k]; off[0] and off[n] are 0.
struct Jacobian {
  std::vector<Ball> off;
  std::vector<Ball> diagonal;
};

Jacobian jacobian(const Cells& cells, const std::vector<Ball>& c) {
  const std::size_t n = c.size();
  Jacobian j;
  j.off.emplace_back(0);
  // f(t) (c_k - c_{k-1}) / 4: both neighbours are equally far from their boundary.
  for (std::size_t k = 1; k < n; ++k) j.off.push_back(cells.edges[k].pdf * (c[k] - c[k - 1]) / Ball(4));
  j.off.emplace_back(0);
  for (std::size_t k = 0; k < n; ++k) j.diagonal.push_back(j.off[k] + j.off[k + 1] - cells.mass[k]);
  return j;
}

/// Approximate inverse, plain doubles: the proof does not rely on how good it is. Row i in inverse[i].
std::vector<std::vector<double>> approximate_inverse(const Jacobian& j) {
  const std::size_t n = j.diagonal.size();
  std::vector<double> off;
  std::vector<double> diagonal;
  for (const Ball& b : j.off) off.push_back(b.to_double());
  for (const Ball& b : j.diagonal) diagonal.push_back(b.to_double());
  std::vector<std::vector<double>> inverse(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double>& x = inverse[i];  // J is symmetric: row i of the inverse solves J x = e_i
    std::vector<double> above(n);
    for (std::size_t k = 0; k < n; ++k) {
      const double pivot = diagonal[k] - (k == 0 ? 0 : off[k] * above[k - 1]);
      above[k] = off[k + 1] / pivot;
      x[k] = ((k == i ? 1.0 : 0.0) - (k == 0 ? 0 : off[k] * x[k - 1])) / pivot;
    }
    for (std::size_t k = n - 1; k > 0; --k) x[k - 1] -= above[k - 1] * x[k];
  }
  return inverse;
}

}  // namespace

Ball enclosed_mass(std::int64_t dim, const Ball& x) { return Law(dim).at(x).zeroth; }

Enclosure enclose(std::int64_t dim, const ExtendedSolution& solution, double radius) {
  const Law law(dim);
  const std::size_t n = solution.centroids.size();
  const Ball reach = Ball(radius) * law.standard_deviation();
  std::vector<Ball> c;
  std::vector<Ball> box;
  for (const std::string& text : solution.centroids) {
    c.push_back(Ball::decimal(text).middle());
    box.push_back(c.back().widened(reach));
  }
  for (std::size_t k = 0; k < n; ++k) {
    const bool above = certainly_less(k == 0 ? Ball(0) : box[k - 1], box[k]);
    if (!above || (dim > 0 && !certainly_less(box[k], Ball(1)))) throw Error("enclosure: centroids are not in order");
  }
  const Cells at_centre = measure(law, c);
  const Cells in_box = measure(law, box);
  const std::vector<std::vector<double>> y = approximate_inverse(jacobian(at_centre, c));
  const Jacobian j = jacobian(in_box, box);
  std::vector<Ball> g;
  for (std::size_t k = 0; k < n; ++k) {
    g.push_back(at_centre.edges[k + 1].first - at_centre.edges[k].first - c[k] * at_centre.mass[k]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    // |Y G(c)|_i + sum_m |I - Y J(B)|_im * reach < reach
    Ball moved(0);
    Ball contraction(0);
    for (std::size_t m = 0; m < n; ++m) {
      moved = moved + Ball(y[i][m]) * g[m];
      Ball entry = Ball(m == i ? 1 : 0) - Ball(y[i][m]) * j.diagonal[m];
      if (m > 0) entry = entry - Ball(y[i][m - 1]) * j.off[m];
      if (m + 1 < n) entry = entry - Ball(y[i][m + 1]) * j.off[m + 1];
      contraction = contraction + abs(entry);
    }
    if (!certainly_less(abs(moved) + contraction * reach, reach)) {
      throw Error("enclosure: the Krawczyk operator does not map the box into itself, centroid " + std::to_string(i));
    }
  }
  Enclosure enclosure;
  Ball distortion(0);
  Ball entropy(0);
  for (std::size_t k = 0; k < n; ++k) {
    const Ball second = in_box.edges[k + 1].second - in_box.edges[k].second;
    const Ball first = in_box.edges[k + 1].first - in_box.edges[k].first;
    const Ball& p = in_box.mass[k];
    distortion = distortion + second - Ball(2) * box[k] * first + box[k] * box[k] * p;
    entropy = entropy - p * log(p);
  }
  enclosure.distortion = Ball(2) * distortion;
  enclosure.entropy = Ball(2) * entropy / log(Ball(2));
  enclosure.boundaries.assign(in_box.boundaries.begin() + 1, in_box.boundaries.end());
  enclosure.probabilities = in_box.mass;
  enclosure.centroids = std::move(box);
  return enclosure;
}

}  // namespace orthant::codebook

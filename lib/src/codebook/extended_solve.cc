#include "codebook/extended_solve.h"

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/bernoulli.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstddef>
#include <limits>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

namespace mp = boost::multiprecision;
using Real60 = mp::number<mp::cpp_bin_float<60>, mp::et_off>;
using Real110 = mp::number<mp::cpp_bin_float<110>, mp::et_off>;

/// C_d by its recursion, then by the asymptotic series of the Gamma ratio: at x >= 999.5 its 24 terms leave less than
/// the 25th, 1e-120.
template <class Real>
Real normalizer(std::int64_t d) {
  constexpr std::int64_t kRecursionEnd = 2000;
  const Real pi = boost::math::constants::pi<Real>();
  if (d < kRecursionEnd) {
    Real c = d % 2 == 0 ? Real(1) / pi : Real(1) / 2;
    for (std::int64_t k = 2 + d % 2; k < d; k += 2) c *= Real(k) / (k - 1);
    return c;
  }
  const Real x = Real(d - 1) / 2;
  Real sum = 0;
  Real power = 1 / x;
  Real quarter = 1;
  for (unsigned k = 1; k <= 24; ++k, power /= x * x) {
    quarter /= 4;
    sum -= (1 - quarter) * boost::math::bernoulli_b2n<Real>(static_cast<int>(k)) / (k * (2 * k - 1)) * power;
  }
  return sqrt(x / pi) * exp(sum);
}

/// f, M0, M1, M2 at one point.
template <class Real>
struct Primitives {
  Real pdf;
  Real zeroth;
  Real first;
  Real second;
};

template <class Real>
class Law {
 public:
  explicit Law(std::int64_t dim)
      : dim_(dim),
        normalizer_(dim == 0 ? 1 / sqrt(2 * boost::math::constants::pi<Real>()) : normalizer<Real>(dim)),
        scale_(dim == 0 ? Real(1) : 1 / sqrt(Real(dim))) {}

  Real standard_deviation() const { return scale_; }
  Primitives<Real> at_zero() const { return {normalizer_, 0, 0, 0}; }
  Primitives<Real> at_end() const {
    const Real half = Real(1) / 2;
    if (dim_ == 0) return {0, half, normalizer_, half};
    return {0, half, normalizer_ / (dim_ - 1), half / dim_};
  }
  Primitives<Real> at(const Real& x) const {
    const Real y = x * x;
    if (dim_ == 0) {
      const Real phi = normalizer_ * exp(-y / 2);
      const Real zeroth = erf(x / sqrt(Real(2))) / 2;
      return {phi, zeroth, normalizer_ - phi, zeroth - x * phi};
    }
    const Real complement = 1 - y;
    const Real power = exp(log(complement) * (dim_ - 1) / 2);  // (1 - x^2)^{(d-1)/2}
    const Real zeroth = normalizer_ * integral(x, y, complement, power);
    return {normalizer_ * power / complement, zeroth, normalizer_ / (dim_ - 1) * (1 - power),
            (zeroth - normalizer_ * x * power) / dim_};
  }

 private:
  /// J = integral_0^x (1 - s^2)^{(d-3)/2} ds. Small d: J_a = (x (1-x^2)^a + 2a J_{a-1}) / (2a + 1), a = (d-3)/2, from
  /// J_{-1/2} = asin x or J_0 = x. Large d: x (1-x^2)^p sum_n (d/2)_n / (3/2)_n x^{2n}. Every term is positive.
  Real integral(const Real& x, const Real& y, const Real& complement, const Real& power) const {
    constexpr std::int64_t kRecursionEnd = 256;
    if (dim_ < kRecursionEnd) {
      const bool even = dim_ % 2 == 0;
      Real value = even ? Real(asin(x)) : x;
      Real rising = even ? Real(sqrt(complement)) : complement;  // (1 - x^2)^a
      for (std::int64_t twice_a = even ? 1 : 2; twice_a <= dim_ - 3; twice_a += 2, rising *= complement) {
        value = (x * rising + twice_a * value) / (twice_a + 1);
      }
      return value;
    }
    Real term = 1;
    Real sum = 1;
    for (std::int64_t n = 0; n < 100000; ++n) {
      term *= y * (dim_ + 2 * n) / (3 + 2 * n);
      sum += term;
      const bool falling = y * (dim_ + 2 * n) < 3 * Real(3 + 2 * n) / 4;
      if (falling && term < sum * std::numeric_limits<Real>::epsilon()) break;
    }
    return x * power * sum;
  }

  std::int64_t dim_;
  Real normalizer_;
  Real scale_;
};

template <class Real>
struct Cells {
  std::vector<Real> probability;
  std::vector<Real> first;  ///< E[(X - c_k) 1_{cell k}]
  std::vector<Primitives<Real>> edges;
  std::vector<Real> boundary;  ///< of edge i, i = 1 .. n - 1
};

template <class Real>
Cells<Real> measure(const Law<Real>& law, const std::vector<Real>& c) {
  const std::size_t n = c.size();
  Cells<Real> cells;
  cells.edges.push_back(law.at_zero());
  cells.boundary.push_back(Real(0));
  for (std::size_t i = 1; i < n; ++i) {
    cells.boundary.push_back((c[i - 1] + c[i]) / 2);
    cells.edges.push_back(law.at(cells.boundary[i]));
  }
  cells.edges.push_back(law.at_end());
  for (std::size_t k = 0; k < n; ++k) {
    cells.probability.push_back(cells.edges[k + 1].zeroth - cells.edges[k].zeroth);
    cells.first.push_back(cells.edges[k + 1].first - cells.edges[k].first - c[k] * cells.probability[k]);
  }
  return cells;
}

/// One Newton step of G_k = E[(X - c_k) 1_{cell k}] = 0; returns the largest move in standard deviations.
template <class Real>
Real newton_step(const Law<Real>& law, std::vector<Real>& c) {
  const std::size_t n = c.size();
  const Cells<Real> cells = measure(law, c);
  std::vector<Real> above(n, Real(0));
  std::vector<Real> delta(n, Real(0));
  Real left = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const Real right = k + 1 < n ? Real(cells.edges[k + 1].pdf * (cells.boundary[k + 1] - c[k]) / 2) : Real(0);
    const Real pivot = left + right - cells.probability[k] - (k == 0 ? Real(0) : Real(left * above[k - 1]));
    above[k] = right / pivot;
    delta[k] = (-cells.first[k] - (k == 0 ? Real(0) : Real(left * delta[k - 1]))) / pivot;
    left = right;
  }
  for (std::size_t k = n - 1; k > 0; --k) delta[k - 1] -= above[k - 1] * delta[k];
  Real largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    c[k] += delta[k];
    if (abs(delta[k]) > largest) largest = abs(delta[k]);
  }
  return largest / law.standard_deviation();
}

template <class Real>
Real distortion(const std::vector<Real>& c, const Cells<Real>& cells) {
  Real sum = 0;
  for (std::size_t k = 0; k < c.size(); ++k) {
    const Real second = cells.edges[k + 1].second - cells.edges[k].second;
    const Real first = cells.edges[k + 1].first - cells.edges[k].first;
    sum += second - 2 * c[k] * first + c[k] * c[k] * cells.probability[k];
  }
  return 2 * sum;
}

template <class Real>
Real entropy(const Cells<Real>& cells) {
  Real sum = 0;
  for (const Real& p : cells.probability) sum -= p * log(p);
  return 2 * sum / log(Real(2));
}

template <class Real>
ExtendedSolution solve(std::int64_t dim, std::span<const double> start, int digits) {
  const Law<Real> law(dim);
  std::vector<Real> c(start.begin(), start.end());
  // The error after a step is about 1e4 times its square, or what rounding leaves: 1e-50 and 1e-96.
  const Real settled = pow(Real(10), -digits * 9 / 20);
  for (int step = 0; newton_step(law, c) > settled; ++step) {
    if (step == 12) throw Error("extended_solve: Newton's method does not settle from this start");
  }
  ExtendedSolution solution;
  for (const Real& x : c) solution.centroids.push_back(x.str(digits, std::ios_base::scientific));
  const Cells<Real> cells = measure(law, c);
  solution.distortion = distortion(c, cells).str(30, std::ios_base::scientific);
  solution.entropy = entropy(cells).str(30, std::ios_base::scientific);
  return solution;
}

}  // namespace

ExtendedSolution extended_solve(std::int64_t dim, std::span<const double> positive_centroids, int digits) {
  return digits <= 60 ? solve<Real60>(dim, positive_centroids, 60) : solve<Real110>(dim, positive_centroids, 110);
}

RoundedSolution rounded_solve(std::int64_t dim, std::span<const double> positive_centroids) {
  using Real = Real60;
  const Law<Real> law(dim);
  std::vector<Real> c(positive_centroids.begin(), positive_centroids.end());
  newton_step(law, c);
  const Cells<Real> cells = measure(law, c);
  RoundedSolution rounded;
  const auto mirrored = [](std::vector<double>& values, const auto& half, std::size_t first, double sign) {
    for (std::size_t k = half.size(); k > first; --k) values.push_back(sign * static_cast<double>(half[k - 1]));
    for (std::size_t k = 0; k < half.size(); ++k) values.push_back(static_cast<double>(half[k]));
  };
  mirrored(rounded.centroids, c, 0, -1);
  mirrored(rounded.boundaries, cells.boundary, 1, -1);
  mirrored(rounded.probabilities, cells.probability, 0, 1);
  rounded.distortion = static_cast<double>(distortion(c, cells));
  rounded.entropy = static_cast<double>(entropy(cells));
  return rounded;
}

}  // namespace orthant::codebook

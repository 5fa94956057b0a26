#include "codebook/proof.h"

#include <optional>
#include <string>

#include "codebook/enclosure.h"
#include "codebook/extended_solve.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

std::string uniqueness(std::int64_t dim) {
  if (dim == 2) {
    return "arcsine law, log-convex: no theorem; the only stationary point that multistart searches find, and the "
           "optimum "
           "of an exact dynamic programme on a fine grid";
  }
  if (dim == 3) return "uniform law: the uniform quantizer is the only stationary point";
  return "strictly log-concave law: the stationary point is unique (Fleischer 1964; Trushkin 1982; Kieffer 1983)";
}

/// The double nearest to every point of the ball, if there is one.
std::optional<double> rounded(const Ball& ball) {
  const auto [low, high] = ball.nearest_doubles();
  if (!ball.finite() || low != high) return std::nullopt;
  return low;
}

/// All doubles, or nothing where one rounding is not decided.
std::optional<std::vector<double>> rounded(const std::vector<Ball>& balls) {
  std::vector<double> values;
  for (const Ball& ball : balls) {
    const std::optional<double> x = rounded(ball);
    if (!x) return std::nullopt;
    values.push_back(*x);
  }
  return values;
}

/// sign * (x_n, ..., x_1), the middle value if there is one, x_1, ..., x_n.
std::vector<double> mirrored(const std::vector<double>& half, double sign, std::optional<double> middle = {}) {
  std::vector<double> values;
  for (auto x = half.rbegin(); x != half.rend(); ++x) values.push_back(sign * *x);
  if (middle) values.push_back(*middle);
  values.insert(values.end(), half.begin(), half.end());
  return values;
}

/// The decimal is the number in the ball, to 1e-28 of it.
bool agrees(const std::string& decimal, const Ball& ball) {
  return certainly_less(abs(Ball::decimal(decimal) - ball), ball * Ball::decimal("1e-28"));
}

/// Working precision of one proof; FLINT's caches of this thread are given back after it.
class Precision {
 public:
  explicit Precision(slong bits) : before_(Ball::precision()) { Ball::precision() = bits; }
  ~Precision() {
    Ball::precision() = before_;
    flint_cleanup();
  }
  Precision(const Precision&) = delete;
  Precision& operator=(const Precision&) = delete;

 private:
  slong before_;
};

struct Attempt {
  int digits;
  slong precision;  ///< bits, more than the digits ask for: series lose some
  double radius;
};

std::optional<ProvedNumbers> attempt(std::int64_t dim, std::span<const double> start, const Attempt& how) {
  const Precision precision(how.precision);
  const ExtendedSolution solution = extended_solve(dim, start, how.digits);
  const Enclosure enclosure = enclose(dim, solution, how.radius);
  const auto centroids = rounded(enclosure.centroids);
  const auto boundaries = rounded(enclosure.boundaries);
  const auto probabilities = rounded(enclosure.probabilities);
  const auto distortion = rounded(enclosure.distortion);
  const auto entropy = rounded(enclosure.entropy);
  if (!centroids || !boundaries || !probabilities || !distortion || !entropy) return std::nullopt;
  if (!agrees(solution.distortion, enclosure.distortion) || !agrees(solution.entropy, enclosure.entropy)) {
    throw Error("codebook proof: distortion or entropy of the extended solution lies outside its enclosure");
  }
  return ProvedNumbers{
      mirrored(*centroids, -1),
      mirrored(*boundaries, -1, 0.0),
      mirrored(*probabilities, 1),
      *distortion,
      *entropy,
      {how.digits, how.radius, solution.distortion, solution.entropy, uniqueness(dim)},
  };
}

}  // namespace

bool proofs_available() { return true; }

ProvedNumbers prove(std::int64_t dim, std::span<const double> positive_centroids) {
  for (const Attempt& how : {Attempt{60, 320, 1e-40}, Attempt{110, 640, 1e-80}}) {
    if (auto proved = attempt(dim, positive_centroids, how)) return *std::move(proved);
  }
  throw Error("codebook proof: a value lies too close to the middle of two doubles for 110 digits");
}

}  // namespace orthant::codebook

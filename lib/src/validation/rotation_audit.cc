#include "orthant/validation/rotation_audit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"
#include "orthant/core/moments.h"
#include "orthant/core/rng.h"

namespace orthant::validation {
namespace {

using DenseMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Index = Eigen::Index;

constexpr double kLargestZ = 6;
constexpr double kFalseAlarm = 1e-6;
constexpr std::size_t kLeastJudgedDim = 16;
constexpr int kCodedBits = 2;  // one round of Hadamard on one-hot inputs shows most at 2 bits

double distortion(const codebook::Codebook& book, const Eigen::VectorXd& y) {
  double sum = 0;
  for (const double v : y) {
    const double error = v - book.centroids()[book.code(v)];
    sum += error * error;
  }
  return sum;
}

/// (-1)^popcount(i & j): entry of the Hadamard matrix in natural order.
double hadamard_sign(std::size_t i, std::size_t j) { return std::popcount(i & j) % 2 == 0 ? 1 : -1; }

struct NamedInput {
  std::string name;
  std::function<double(std::size_t)> entry;  ///< before normalisation
};

std::vector<NamedInput> structured_inputs(std::size_t d) {
  const std::size_t half = d / 2;
  return {
      {"first unit vector", [](std::size_t j) { return j == 0 ? 1.0 : 0.0; }},
      {"middle unit vector", [half](std::size_t j) { return j == half ? 1.0 : 0.0; }},
      {"last unit vector", [d](std::size_t j) { return j + 1 == d ? 1.0 : 0.0; }},
      {"two equal coordinates", [](std::size_t j) { return j < 2 ? 1.0 : 0.0; }},
      {"constant", [](std::size_t) { return 1.0; }},
      {"alternating signs", [](std::size_t j) { return j % 2 == 0 ? 1.0 : -1.0; }},
      {"Hadamard row", [half](std::size_t j) { return hadamard_sign(half | 1U, j); }},
      {"first half constant", [half](std::size_t j) { return j < half ? 1.0 : 0.0; }},
  };
}

struct Signs {
  std::size_t positive = 0;
  double probability = 1;  ///< two-sided
};

/// Signs of T_jj, j < d - 1, of R = Q T by Householder: reflection j sends the reduced column x to -sign(x_0) ||x||
/// e_0, so T_jj > 0 exactly when x_0 < 0. Under Haar each reduced column is uniform on its sphere given those before
/// it.
Signs signs(const DenseMatrix& r) {
  const Eigen::Index coins = r.rows() - 1;
  if (coins < 1) return {};
  const Eigen::HouseholderQR<DenseMatrix> factors(r);
  Signs seen;
  for (Eigen::Index j = 0; j < coins; ++j) seen.positive += factors.matrixQR()(j, j) > 0 ? 1U : 0U;
  const auto n = static_cast<double>(coins);
  const auto k = static_cast<double>(seen.positive);
  const boost::math::binomial_distribution<double> law(n, 0.5);
  const double tail = boost::math::cdf(law, std::min(k, n - k));
  seen.probability = std::min(1.0, 2 * tail);
  return seen;
}

/// Mean and standard deviation of the distortion of uniform points: the law every y = R x has under Haar.
Moments uniform_law(const codebook::Codebook& book, std::size_t d, std::uint64_t seed) {
  constexpr std::uint64_t kDraws = 2000;  // chosen: the standard deviation to 1.6 %
  Moments moments;
  Eigen::VectorXd y(static_cast<Index>(d));
  for (std::uint64_t t = 0; t < kDraws; ++t) {
    RngStream stream(seed, claim_domain("rotation audit"), t);
    stream.fill_unit_vector(std::span<double>(y.data(), d));
    moments.add(distortion(book, y));
  }
  return moments;
}

/// Twice the largest norm of a column of rounding errors, half a unit each, in the coarsest format that holds every
/// entry: bfloat16 (8 bits of significand) or half precision (11). 1e-5 where neither does, and at least.
double rounding_defect(MatrixView<const double> r) {
  constexpr double kSinglePrecision = 1e-5;
  struct Format {
    int significand;
    int least_exponent;
    float (*round)(float);
  };
  constexpr Format kFormats[] = {{8, -133, [](float x) { return bfloat16_to_float(float_to_bfloat16(x)); }},
                                 {11, -24, [](float x) { return half_to_float(float_to_half(x)); }}};
  for (const Format& format : kFormats) {
    bool holds = true;
    std::vector<double> squares(r.cols());
    for (std::size_t i = 0; holds && i < r.rows(); ++i) {
      for (std::size_t j = 0; holds && j < r.cols(); ++j) {
        const double x = r(i, j);
        holds = double{format.round(static_cast<float>(x))} == x;
        const int exponent = x == 0 ? format.least_exponent : std::ilogb(x) + 1 - format.significand;
        const double half_unit = std::ldexp(0.5, std::max(exponent, format.least_exponent));
        squares[j] += half_unit * half_unit;
      }
    }
    if (holds) return std::max(kSinglePrecision, 2 * std::sqrt(std::ranges::max(squares)));
  }
  return kSinglePrecision;
}

}  // namespace

std::string to_string(RotationFault fault) {
  switch (fault) {
    case RotationFault::kShape:
      return "shape";
    case RotationFault::kNotFinite:
      return "not finite";
    case RotationFault::kNotOrthogonal:
      return "not orthogonal";
    case RotationFault::kSignBias:
      return "sign bias";
    case RotationFault::kStructured:
      return "structured input";
  }
  return "";
}

RotationAudit audit_rotation(MatrixView<const double> rotation, const RotationAuditOptions& options) {
  constexpr std::size_t kMostRows = 8192;
  if (rotation.rows() > kMostRows || rotation.cols() > kMostRows) {
    throw_invalid_argument("audit rotation", "shape", fmt::format("{} x {}", rotation.rows(), rotation.cols()),
                           "at most 8192 x 8192");
  }
  if (options.tolerance && !(*options.tolerance > 0)) {
    throw_invalid_argument("audit rotation", "tolerance", fmt::format("{}", *options.tolerance), "a positive number");
  }
  RotationAudit report;
  report.rows = rotation.rows();
  report.cols = rotation.cols();
  const auto find = [&](RotationFault fault, std::string text) { report.findings.push_back({fault, std::move(text)}); };
  if (report.rows == 0 || report.rows != report.cols) {
    find(RotationFault::kShape, fmt::format("{} x {}: a rotation is square", report.rows, report.cols));
    return report;
  }
  const std::size_t d = report.rows;
  DenseMatrix r(static_cast<Index>(d), static_cast<Index>(d));
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      if (!std::isfinite(rotation(i, j))) {
        find(RotationFault::kNotFinite, fmt::format("entry ({}, {}) is {}", i, j, rotation(i, j)));
        return report;
      }
      r(static_cast<Index>(i), static_cast<Index>(j)) = rotation(i, j);
    }
  }
  const DenseMatrix gram = r.transpose() * r;
  report.orthogonality_defect = (gram - DenseMatrix::Identity(gram.rows(), gram.cols())).cwiseAbs().maxCoeff();
  const Eigen::SelfAdjointEigenSolver<DenseMatrix> spectrum(gram, Eigen::EigenvaluesOnly);
  report.smallest_singular_value = std::sqrt(std::max(spectrum.eigenvalues().minCoeff(), 0.0));
  report.largest_singular_value = std::sqrt(std::max(spectrum.eigenvalues().maxCoeff(), 0.0));
  report.determinant = r.partialPivLu().determinant();
  report.trace = r.trace();
  if (!(report.orthogonality_defect <= options.tolerance.value_or(rounding_defect(rotation)))) {
    find(RotationFault::kNotOrthogonal,
         fmt::format("max |R^T R - I| is {:.3g}, singular values {:.6g} to {:.6g}: norms and inner products change",
                     report.orthogonality_defect, report.smallest_singular_value, report.largest_singular_value));
  }
  const Signs own = signs(r);
  const Signs transposed = signs(r.transpose());
  const Signs& signs_seen = own.probability <= transposed.probability ? own : transposed;
  report.positive_signs = signs_seen.positive;
  report.sign_probability = std::min(1.0, 2 * signs_seen.probability);
  if (report.sign_probability < kFalseAlarm) {
    find(RotationFault::kSignBias,
         fmt::format(
             "{} of {} signs are positive, fair coins for Haar (probability {:.1e}): QR without the sign fix leaves "
             "that; multiply column j of Q by sign(T_jj)",
             report.positive_signs, d - 1, report.sign_probability));
  }

  const codebook::Codebook book = codebook::sphere_codebook(static_cast<std::int64_t>(d), kCodedBits);
  report.expected_distortion = static_cast<double>(d) * book.distortion();
  const Moments uniform = uniform_law(book, d, options.seed);
  for (const NamedInput& input : structured_inputs(d)) {
    Eigen::VectorXd x(static_cast<Index>(d));
    for (std::size_t j = 0; j < d; ++j) x(static_cast<Index>(j)) = input.entry(j);
    x.normalize();
    const Eigen::VectorXd y = r * x;
    StructuredInput seen{input.name, distortion(book, y), 0, y.cwiseAbs().maxCoeff()};
    if (uniform.standard_deviation() > 0) {
      seen.z = (seen.distortion - report.expected_distortion) / uniform.standard_deviation();
    }
    if (d >= kLeastJudgedDim && std::abs(seen.z) > kLargestZ) {
      find(RotationFault::kStructured,
           fmt::format("{}: 2-bit distortion {:.4g}, {:.1f} standard deviations from the uniform law's {:.4g}",
                       seen.name, seen.distortion, seen.z, report.expected_distortion));
    }
    report.inputs.push_back(std::move(seen));
  }
  return report;
}

}  // namespace orthant::validation

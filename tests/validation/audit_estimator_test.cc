#include <gtest/gtest.h>

#include <numbers>

#include "orthant/core/error.h"
#include "orthant/core/workspace.h"
#include "orthant/transform/haar.h"
#include "orthant/validation/audit.h"
#include "validation/simulated_codes.h"

namespace orthant::validation {
namespace {

constexpr std::size_t kDim = 128;
constexpr std::size_t kKeys = 3000;
constexpr std::size_t kQueries = 32;

const Matrix<float>& keys() {
  static const Matrix<float> all = unit_vectors(kKeys, kDim, "estimator keys");
  return all;
}

/// Half of the queries are random, half are near a key, so that slope and variance are both seen.
const Matrix<float>& queries() {
  static const Matrix<float> all = [] {
    Matrix<float> q = unit_vectors(kQueries, kDim, "estimator queries");
    RngStream rng(1, claim_domain("near"), 0);
    for (std::size_t i = 0; i < kQueries; i += 2) correlated_query(keys().row(i), 0.7, rng, q.row(i));
    return q;
  }();
  return all;
}

Matrix<float> products(const Matrix<float>& x_hat) {
  Matrix<float> scores(kQueries, kKeys);
  for (std::size_t i = 0; i < kQueries; ++i) {
    for (std::size_t j = 0; j < kKeys; ++j) scores(i, j) = static_cast<float>(dot(queries().row(i), x_hat.row(j)));
  }
  return scores;
}

enum class Sketch { kGaussian, kOrthogonal };

/// x_hat + coefficient |r| S^T sign(S r), r = x - x_hat of b - 1 bits.
Matrix<float> with_sketch(int bits, Sketch kind, double coefficient) {
  Matrix<float> s(kDim, kDim);
  RngStream rng(2, claim_domain("foreign sketch"), 0);
  rng.fill_normal(std::span<float>(s.data(), kDim * kDim));
  const transform::Haar haar(kDim, 5);
  Workspace work(haar.workspace_bytes(1));
  const auto forward = [&](const std::vector<float>& x) {
    Matrix<float> y(1, kDim);
    if (kind == Sketch::kGaussian) {
      for (std::size_t a = 0; a < kDim; ++a) y(0, a) = static_cast<float>(dot(s.row(a), x));
    } else {
      haar.apply_keys(MatrixView<const float>(x.data(), 1, kDim), y.view(), work);
    }
    return y;
  };
  const auto backward = [&](const Matrix<float>& z) {
    Matrix<float> x(1, kDim);
    if (kind == Sketch::kGaussian) {
      for (std::size_t a = 0; a < kDim; ++a) {
        for (std::size_t j = 0; j < kDim; ++j) x(0, j) += z(0, a) * s(a, j);
      }
    } else {
      haar.invert_keys(z.view(), x.view(), work);
    }
    return x;
  };
  Matrix<float> x_hat = rounded(keys(), sphere_levels(kDim, bits - 1));
  for (std::size_t i = 0; i < kKeys; ++i) {
    std::vector<float> r(kDim);
    for (std::size_t j = 0; j < kDim; ++j) r[j] = keys()(i, j) - x_hat(i, j);
    Matrix<float> z = forward(r);
    for (float& v : z.row(0)) v = v < 0 ? -1.0F : 1.0F;
    const Matrix<float> back = backward(z);
    const double gain = coefficient * std::sqrt(dot(r, r));
    for (std::size_t j = 0; j < kDim; ++j) x_hat(i, j) += static_cast<float>(gain) * back(0, j);
  }
  return x_hat;
}

AuditResult audit(const Matrix<float>& x_hat, int bits) {
  EstimatorOptions options;
  options.bits = bits;
  return audit_estimator(queries().view(), keys().view(), products(x_hat).view(), options);
}

std::string first_finding(const AuditResult& result) {
  return result.findings.empty() ? "none" : result.findings[0].id;
}

constexpr double kHalfPi = std::numbers::pi / 2;

TEST(AuditEstimator, AccusesNoCorrectMethod) {
  for (int b = 2; b <= 4; ++b) {
    SCOPED_TRACE(b);
    const AuditResult mse = audit(rounded(keys(), sphere_levels(kDim, b)), b);
    EXPECT_EQ(first_finding(mse), "turbo-mse");
    EXPECT_FALSE(mse.faulty());
    const AuditResult gaussian = audit(with_sketch(b, Sketch::kGaussian, std::sqrt(kHalfPi) / kDim), b);
    EXPECT_EQ(first_finding(gaussian), "prod-gaussian");
    EXPECT_FALSE(gaussian.faulty());
    const AuditResult orthogonal = audit(with_sketch(b, Sketch::kOrthogonal, std::sqrt(kHalfPi / kDim)), b);
    EXPECT_EQ(first_finding(orthogonal), "prod-orthogonal");
    EXPECT_FALSE(orthogonal.faulty());
  }
}

// FAISS 1.15's TurboQuant_prod: slopes .670, .896, .970 at 2, 3 and 4 bits.
TEST(AuditEstimator, GaussianConstantOnAnOrthogonalSketch) {
  const double slopes[] = {0.670, 0.896, 0.970};
  for (int b = 2; b <= 4; ++b) {
    const AuditResult result = audit(with_sketch(b, Sketch::kOrthogonal, std::sqrt(kHalfPi) / kDim), b);
    EXPECT_TRUE(result.faulty());
    EXPECT_EQ(first_finding(result), "sketch-constant");
    EXPECT_NEAR(result.measurements[1].value, slopes[b - 2], 0.005);
  }
}

// Multi-bit RaBitQ whose search for the scale starts too late: more variance than its law at 2 and 4 bits.
TEST(AuditEstimator, SearchThatStartsTooLate) {
  for (int b = 2; b <= 4; ++b) {
    SCOPED_TRACE(b);
    const AuditResult late = audit(grid_codes(keys(), b, true), b);
    EXPECT_EQ(first_finding(late), b == 3 ? "unbiased" : "variance");
    EXPECT_EQ(late.faulty(), b != 3);
    EXPECT_FALSE(audit(grid_codes(keys(), b, false), b).faulty());
  }
}

TEST(AuditEstimator, SketchThatDoesNothing) {
  for (int b = 2; b <= 4; ++b) {
    const AuditResult result = audit(rounded(keys(), sphere_levels(kDim, b - 1)), b);
    EXPECT_TRUE(result.faulty());
    EXPECT_EQ(first_finding(result), "sketch-inert");
  }
}

TEST(AuditEstimator, BiasAndNoise) {
  Matrix<float> x_hat = rounded(keys(), sphere_levels(kDim, 4));
  for (std::size_t i = 0; i < kKeys; ++i) {
    for (float& v : x_hat.row(i)) v *= 1.1F;
  }
  EXPECT_TRUE(audit(x_hat, 4).faulty());
  RngStream rng(4, claim_domain("noise"), 0);
  x_hat = rounded(keys(), sphere_levels(kDim, 4));
  for (std::size_t i = 0; i < kKeys; ++i) {
    for (float& v : x_hat.row(i)) v += static_cast<float>(0.3 / std::sqrt(1.0 * kDim) * rng.normal());
  }
  EXPECT_TRUE(audit(x_hat, 4).faulty());
}

// Scores without any scatter: all zero, or exact on one-hot keys. No law has a variance of zero, none may be assumed.
TEST(AuditEstimator, ScoresWithoutScatter) {
  EXPECT_EQ(first_finding(audit(Matrix<float>(kKeys, kDim), 2)), "slope");
  EXPECT_TRUE(audit(Matrix<float>(kKeys, kDim), 2).faulty());
  Matrix<float> axes(kDim, kDim);
  for (std::size_t i = 0; i < kDim; ++i) axes(i, i) = 1;
  const AuditResult exact = audit_estimator(axes.view(), axes.view(), axes.view(), {});
  EXPECT_EQ(first_finding(exact), "variance");
  EXPECT_EQ(exact.bits, 8);
  EXPECT_FALSE(exact.faulty());
}

// Scores of the keys themselves, or of codes of more bits: finer than two bits can be. Nobody is accused of bits that
// nobody stated.
TEST(AuditEstimator, FinerThanTheBitsAllow) {
  const Matrix<float> four = rounded(keys(), sphere_levels(kDim, 4));
  for (const Matrix<float>* x_hat : {&keys(), &four}) {
    const AuditResult result = audit(*x_hat, 2);
    EXPECT_TRUE(result.faulty());
    EXPECT_EQ(result.findings.back().id, "converse");
  }
  EXPECT_FALSE(audit_estimator(queries().view(), keys().view(), products(keys()).view(), {}).faulty());
  // Half as long they are no better: the floor goes with the square of the slope.
  Matrix<float> half = rounded(keys(), sphere_levels(kDim, 2));
  for (std::size_t i = 0; i < kKeys; ++i) {
    for (float& v : half.row(i)) v *= 0.5F;
  }
  for (const Finding& finding : audit(half, 2).findings) EXPECT_NE(finding.id, "converse");
}

TEST(AuditEstimator, Refusals) {
  const Matrix<float> scores(kQueries, 10);
  EXPECT_THROW(audit_estimator(queries().view(), keys().view(), scores.view(), {}), InvalidInput);
  const Matrix<float> none(0, kDim);
  EXPECT_THROW(audit_estimator(none.view(), keys().view(), Matrix<float>(0, kKeys).view(), {}), InvalidInput);
}

}  // namespace
}  // namespace orthant::validation

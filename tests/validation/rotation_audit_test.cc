#include "orthant/validation/rotation_audit.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/half.h"
#include "orthant/core/rng.h"

namespace orthant::validation {
namespace {

Matrix<double> from(const Eigen::MatrixXd& m) {
  Matrix<double> out(static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols()));
  for (std::size_t i = 0; i < out.rows(); ++i) {
    for (std::size_t j = 0; j < out.cols(); ++j) {
      out(i, j) = m(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    }
  }
  return out;
}

RotationAudit audit(const Eigen::MatrixXd& m) { return audit_rotation(from(m).view(), {}); }

/// QR of a Gaussian matrix; with_signs false leaves LAPACK's and Eigen's choice of reflections in place.
Eigen::MatrixXd qr(int d, std::uint64_t seed, bool with_signs) {
  RngStream stream(seed, Domain::kRotation, 0);
  Eigen::MatrixXd g(d, d);
  stream.fill_normal(std::span<double>(g.data(), static_cast<std::size_t>(d) * static_cast<std::size_t>(d)));
  const Eigen::HouseholderQR<Eigen::MatrixXd> factors(g);
  Eigen::MatrixXd q = factors.householderQ();
  if (with_signs) {
    for (int j = 0; j < d; ++j) {
      if (factors.matrixQR()(j, j) < 0) q.col(j) = -q.col(j);
    }
  }
  return q;
}

Eigen::MatrixXd hadamard(int d) {
  Eigen::MatrixXd h(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      const bool odd = std::popcount(static_cast<unsigned>(i) & static_cast<unsigned>(j)) % 2 != 0;
      h(i, j) = (odd ? -1 : 1) / std::sqrt(static_cast<double>(d));
    }
  }
  return h;
}

Eigen::MatrixXd hadamard_rounds(int d, int rounds) {
  Eigen::MatrixXd r = Eigen::MatrixXd::Identity(d, d);
  for (int k = 0; k < rounds; ++k) {
    RngStream stream(7, Domain::kRotation, static_cast<std::uint64_t>(k));
    std::vector<float> signs(static_cast<std::size_t>(d));
    stream.fill_signs(signs);
    for (int i = 0; i < d; ++i) r.row(i) *= signs[static_cast<std::size_t>(i)];
    r = hadamard(d) * r;
  }
  return r;
}

std::vector<std::string> names(const RotationAudit& report) {
  std::vector<std::string> all;
  for (const auto& finding : report.findings) all.push_back(to_string(finding.fault));
  return all;
}

bool has(const RotationAudit& report, const std::string& name) { return std::ranges::count(names(report), name) > 0; }

// False alarms: 1e-6 for the signs, nominally 2e-9 for each of 8 structured inputs; seeds are fixed.
TEST(RotationAudit, HaarIsNotAccused) {
  for (const int d : {2, 3, 16, 64, 128}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const RotationAudit report = audit(qr(d, seed, true));
      EXPECT_TRUE(report.correct()) << d << testing::PrintToString(names(report));
      EXPECT_LT(report.orthogonality_defect, 1e-13);
      EXPECT_NEAR(std::abs(report.determinant), 1, 1e-12);
    }
  }
}

// Three rounds with fresh signs are as good as uniform on these inputs.
TEST(RotationAudit, ThreeHadamardRoundsAreNotAccused) { EXPECT_TRUE(audit(hadamard_rounds(128, 3)).correct()); }

// Planted fault: QR without the sign fix.
TEST(RotationAudit, NamesTheMissingSignFix) {
  for (const int d : {24, 64, 128}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const RotationAudit report = audit(qr(d, seed, false));
      EXPECT_TRUE(has(report, "sign bias")) << d << " " << report.positive_signs;
      EXPECT_EQ(report.positive_signs, static_cast<std::size_t>(d - 1));
      EXPECT_TRUE(has(audit(qr(d, seed, false).transpose()), "sign bias")) << d;
      EXPECT_FALSE(has(report, "not orthogonal"));
    }
  }
}

// One round of the randomized Hadamard transform sends a unit vector to +-1/sqrt(d): 0.2552 at 2 bits, d = 128.
TEST(RotationAudit, NamesOneHadamardRound) {
  const RotationAudit report = audit(hadamard_rounds(128, 1));
  EXPECT_TRUE(has(report, "structured input"));
  EXPECT_NEAR(report.inputs.front().distortion, 0.2552, 5e-5);
  const RotationAudit pure = audit(hadamard(128));
  EXPECT_TRUE(has(pure, "structured input"));
}

TEST(RotationAudit, NamesTheIdentity) {
  const RotationAudit report = audit(Eigen::MatrixXd::Identity(64, 64));
  EXPECT_TRUE(has(report, "sign bias"));
  EXPECT_TRUE(has(report, "structured input"));
}

// A 128 x 128 Hadamard matrix sliced to 80 x 80 and rescaled: smallest singular value 0.353553 before rescaling.
TEST(RotationAudit, NamesASlicedHadamard) {
  const RotationAudit report = audit(hadamard(128).topLeftCorner(80, 80));
  EXPECT_TRUE(has(report, "not orthogonal"));
  EXPECT_NEAR(report.smallest_singular_value, 0.353553, 1e-6);
}

TEST(RotationAudit, HalfPrecisionAndBfloat16AreNotAccused) {
  for (const bool half : {true, false}) {
    Eigen::MatrixXd q = qr(128, 5, true);
    for (double& x : q.reshaped()) {
      const auto y = static_cast<float>(x);
      x = double{half ? half_to_float(float_to_half(y)) : bfloat16_to_float(float_to_bfloat16(y))};
    }
    const RotationAudit report = audit(q);
    EXPECT_GT(report.orthogonality_defect, 1e-5);
    EXPECT_TRUE(report.correct()) << report.findings.front().text;
    EXPECT_FALSE(audit_rotation(from(q).view(), {.tolerance = 1e-5}).correct());
    q *= half ? 1.0009765625 : 1.0078125;  // a whole unit of every entry
    EXPECT_FALSE(audit(q).correct());
  }
}

TEST(RotationAudit, NamesWhatIsNoRotation) {
  EXPECT_EQ(names(audit(Eigen::MatrixXd::Zero(3, 4))), std::vector<std::string>{"shape"});
  EXPECT_EQ(names(audit_rotation({}, {})), std::vector<std::string>{"shape"});
  Eigen::MatrixXd nan = Eigen::MatrixXd::Identity(4, 4);
  nan(1, 2) = std::nan("");
  EXPECT_EQ(names(audit(nan)), std::vector<std::string>{"not finite"});
  EXPECT_TRUE(has(audit(1.001 * qr(32, 1, true)), "not orthogonal"));
  EXPECT_THROW(audit_rotation(from(Eigen::MatrixXd::Identity(2, 2)).view(), {.tolerance = 0}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::validation

// What holds for every rotation: orthogonality at every kind of dimension, float against double, inverse, batches.
#include "orthant/transform/rotation.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/make_rotation.h"
#include "transform/dense.h"
#include "transform/random_vectors.h"

namespace orthant::transform {
namespace {

const std::vector<std::string> kSpecs = {"haar",    "hadamard:1",        "hadamard:3", "kac:4",
                                         "fht-kac", "block-hadamard:32", "hadamard",   "none"};

class EveryRotation : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Specs, EveryRotation, testing::ValuesIn(kSpecs), [](const auto& spec) {
  std::string name = spec.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST_P(EveryRotation, IsOrthogonalAtAwkwardDimensions) {
  // 576 is a real width (MLA), 127 a prime, 129 one above a power of two, 80 to 192 the head sizes that ports got
  // wrong.
  for (const std::size_t d :
       {1U, 2U, 3U, 4U, 5U, 7U, 8U, 31U, 33U, 64U, 80U, 96U, 112U, 127U, 128U, 129U, 192U, 576U}) {
    SCOPED_TRACE("d = " + std::to_string(d));
    const Eigen::MatrixXd r = dense(*make_rotation(GetParam(), d, 7));
    // Also bounds the singular values: |sigma^2 - 1| <= d * defect (Gershgorin).
    EXPECT_LE(orthogonality_defect(r), 1e-12);
  }
}

TEST_P(EveryRotation, IsOrthogonalAtEverySmallDimensionAndBesidePowersOfTwo) {
  const bool dense = GetParam() == "haar";  // made in d^3 steps
  for (std::size_t d = 1; d <= (dense ? 150U : 300U); ++d) expect_orthogonal_on_random_vectors(GetParam(), d);
  if (dense) return;
  for (std::size_t power = 512; power <= 4096; power *= 2)
    for (const std::size_t d : {power - 1, power, power / 4 * 3}) expect_orthogonal_on_random_vectors(GetParam(), d);
}

TEST(Rotation, OrthogonalityCheckNoticesASlicedHadamardMatrix) {
  // Planted fault: H_n of the next power of two, its top left d x d block taken as if it were a rotation.
  struct Case {
    unsigned d;
    double smallest_singular_value;
  };
  for (const auto [d, smallest] : {Case{80, 0.35355339059327379}, Case{96, 0.5}, Case{112, 0.35355339059327379}}) {
    Eigen::MatrixXd slice(d, d);
    for (unsigned i = 0; i < d; ++i) {
      for (unsigned j = 0; j < d; ++j) slice(i, j) = (std::popcount(i & j) % 2 == 0 ? 1 : -1) / std::sqrt(128.0);
    }
    EXPECT_GT(orthogonality_defect(slice), 0.1);
    EXPECT_NEAR(Eigen::JacobiSVD<Eigen::MatrixXd>(slice).singularValues().minCoeff(), smallest, 1e-9);
  }
}

TEST_P(EveryRotation, FloatFollowsDoubleAndInverts) {
  for (const std::size_t d : {1U, 2U, 3U, 17U, 64U, 80U, 128U, 192U, 1000U}) {
    SCOPED_TRACE("d = " + std::to_string(d));
    const auto rotation = make_rotation(GetParam(), d, 11);
    ASSERT_EQ(rotation->dim(), d);
    EXPECT_TRUE(rotation->orthogonal());
    const std::size_t n = 5;
    Matrix<float> x(n, d);
    Matrix<float> y(n, d);
    Matrix<float> back(n, d);
    for (std::size_t i = 0; i < n; ++i) RngStream(1, Domain::kData, i).fill_unit_vector(x.row(i));
    Workspace work(rotation->workspace_bytes(n));
    rotation->apply_keys(x.view(), y.view(), work);
    rotation->invert_keys(y.view(), back.view(), work);
    // Dense: |error_j| <= (d + 1) u |R_j| . |x| <= (d + 1) u by Cauchy and Schwarz (rows and x have norm 1), one more u
    // for the rounded matrix. Fast: at most 2 steps of log2 d butterflies in each of at most 4 rounds, and Kac's walk
    // has 4 log2 d steps: a relative error of 3 u each. Both are far below (d + 100) u.
    const double u = 0x1p-24;
    const double tolerance = (static_cast<double>(d) + 100) * u;
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> exact(x.row(i).begin(), x.row(i).end());
      rotation->rotate(exact);
      for (std::size_t j = 0; j < d; ++j) {
        EXPECT_NEAR(y(i, j), exact[j], tolerance);
        EXPECT_NEAR(back(i, j), x(i, j), 2 * tolerance);
      }
      rotation->rotate_back(exact);
      for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(exact[j], static_cast<double>(x(i, j)), 1e-13);
    }
  }
}

TEST_P(EveryRotation, ARowDoesNotDependOnTheRowsAroundIt) {
  // Appending tokens one by one or in chunks must code them alike: same bits for a row alone, in any batch, in place.
  for (const std::size_t d : {3U, 64U, 80U, 128U, 256U}) {
    SCOPED_TRACE("d = " + std::to_string(d));
    const auto rotation = make_rotation(GetParam(), d, 3);
    const std::size_t n = 37;
    Matrix<float> x(n, d);
    Matrix<float> together(n, d);
    Matrix<float> alone(n, d);
    for (std::size_t i = 0; i < n; ++i) RngStream(2, Domain::kData, i).fill_normal(x.row(i));
    Workspace work(rotation->workspace_bytes(n));
    rotation->apply_keys(x.view(), together.view(), work);
    for (std::size_t i = 0; i < n; ++i) {
      rotation->apply_keys(x.view().middle_rows(i, 1), alone.view().middle_rows(i, 1), work);
    }
    EXPECT_TRUE(std::equal(together.data(), together.data() + n * d, alone.data()));
    Matrix<float> back(n, d);
    rotation->invert_keys(together.view(), back.view(), work);
    for (std::size_t i = 0; i < n; ++i) {
      rotation->invert_keys(together.view().middle_rows(i, 1), alone.view().middle_rows(i, 1), work);
    }
    EXPECT_TRUE(std::equal(back.data(), back.data() + n * d, alone.data())) << "on the way back";
    rotation->apply_queries(x.view(), x.view(), work);  // in place, and queries turn as keys do
    EXPECT_TRUE(std::equal(together.data(), together.data() + n * d, x.data()));
  }
}

TEST_P(EveryRotation, ReadsAndWritesStridedRows) {
  const std::size_t d = 48;
  const auto rotation = make_rotation(GetParam(), d, 5);
  Workspace work(rotation->workspace_bytes(3));
  Matrix<float> wide(3, 100);
  for (std::size_t i = 0; i < 3; ++i) RngStream(3, Domain::kData, i).fill_normal(wide.row(i));
  const Matrix<float> before = wide;
  Matrix<float> compact(3, d);
  rotation->apply_keys(before.view().middle_cols(20, d), compact.view(), work);
  rotation->apply_keys(wide.view().middle_cols(20, d), wide.view().middle_cols(20, d), work);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 100; ++j) {
      EXPECT_EQ(wide(i, j), j < 20 || j >= 20 + d ? before(i, j) : compact(i, j - 20));
    }
  }
}

TEST_P(EveryRotation, RefusesOtherShapes) {
  const auto rotation = make_rotation(GetParam(), 8, 5);
  Workspace work(rotation->workspace_bytes(2));
  Matrix<float> good(2, 8);
  Matrix<float> narrow(2, 7);
  Matrix<float> longer(3, 8);
  std::vector<double> seven(7);
  EXPECT_THROW(rotation->apply_keys(narrow.view(), good.view(), work), InvalidArgument);
  EXPECT_THROW(rotation->apply_keys(good.view(), narrow.view(), work), InvalidArgument);
  EXPECT_THROW(rotation->invert_keys(good.view(), longer.view(), work), InvalidArgument);
  EXPECT_THROW(rotation->rotate(seven), InvalidArgument);
  EXPECT_THROW(rotation->rotate_back(seven), InvalidArgument);
}

TEST_P(EveryRotation, SeedAndIndexDecideTheMap) {
  const auto map = [&](std::uint64_t seed, std::uint64_t index) {
    return dense(*make_rotation(GetParam(), 24, seed, index));
  };
  EXPECT_EQ(map(1, 0), map(1, 0));
  if (GetParam() == "none" || GetParam() == "hadamard") return;
  EXPECT_NE(map(1, 0), map(2, 0));
  EXPECT_NE(map(1, 0), map(1, 1));
}

}  // namespace
}  // namespace orthant::transform

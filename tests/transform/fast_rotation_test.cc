#include "orthant/transform/fast_rotation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/core/rng.h"
#include "transform/dense.h"

namespace orthant::transform {
namespace {

Eigen::MatrixXd hadamard_matrix(unsigned d) {
  Eigen::MatrixXd h(d, d);
  for (unsigned i = 0; i < d; ++i) {
    for (unsigned j = 0; j < d; ++j) h(i, j) = (std::popcount(i & j) % 2 == 0 ? 1 : -1) / std::sqrt(d);
  }
  return h;
}

double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(FastRotation, OneRoundIsHadamardTimesSignsOnEveryBasisVector) {
  for (const unsigned d : {1U, 2U, 4U, 8U, 32U, 128U}) {
    SCOPED_TRACE(d);
    const FastRotation rotation = randomized_hadamard(d, 1, 9);
    ASSERT_EQ(rotation.signs().size(), d);
    Eigen::MatrixXd expected = hadamard_matrix(d);
    for (unsigned j = 0; j < d; ++j) expected.col(j) *= static_cast<double>(rotation.signs()[j]);
    EXPECT_LE(largest_difference(dense(rotation), expected), 1e-14);

    Matrix<float> basis(d, d);
    for (unsigned j = 0; j < d; ++j) basis(j, j) = 1;
    Workspace work(rotation.workspace_bytes(d));
    rotation.apply_keys(basis.view(), basis.view(), work);  // row j is R e_j
    for (unsigned i = 0; i < d; ++i) {
      for (unsigned j = 0; j < d; ++j) EXPECT_NEAR(basis(j, i), expected(i, j), 1e-6);
    }
    // Without its signs it would be another matrix: the comparison can fail.
    EXPECT_TRUE(d < 8 || largest_difference(hadamard_matrix(d), expected) > 0.1);
  }
}

TEST(FastRotation, PlainHadamardFillsBlocksOfTheLargestPowerOfTwoThatDivides) {
  EXPECT_LE(largest_difference(dense(plain_hadamard(64)), hadamard_matrix(64)), 1e-14);
  const Eigen::MatrixXd r = dense(plain_hadamard(80));
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(80, 80);
  for (int block = 0; block < 80; block += 16) expected.block(block, block, 16, 16) = hadamard_matrix(16);
  EXPECT_LE(largest_difference(r, expected), 1e-14);
  EXPECT_EQ(dense(plain_hadamard(7)), (Eigen::MatrixXd::Identity(7, 7)));
}

TEST(FastRotation, BlockHadamardKeepsEnergyInItsBlock) {
  const Eigen::MatrixXd r = dense(block_hadamard(80, 32, 4));  // blocks 32, 32, 16
  for (int i = 0; i < 80; ++i) {
    for (int j = 0; j < 80; ++j) {
      const double size = i < 64 ? 32 : 16;
      EXPECT_NEAR(std::abs(r(i, j)), i / 32 == j / 32 ? 1 / std::sqrt(size) : 0, 1e-14);
    }
  }
}

TEST(FastRotation, RoundsDrawFreshSigns) {
  const std::size_t d = 64;
  const FastRotation rotation = fht_kac(d, 1);
  ASSERT_EQ(rotation.signs().size(), 4 * d);
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) {
      EXPECT_FALSE(std::ranges::equal(rotation.signs().subspan(a * d, d), rotation.signs().subspan(b * d, d)));
    }
  }
}

/// Mean of trace(R) / d over seeds.
template <class Draw>
Moments traces(Draw draw, int seeds) {
  Moments m;
  for (int seed = 0; seed < seeds; ++seed) m.add(dense(draw(static_cast<std::uint64_t>(seed))).trace() / 64);
  return m;
}

TEST(FastRotation, TraceOfFourRoundsIsCentredAndNoticesReusedSigns) {
  // Each of 400 seeds has standard deviation 1/64 = 0.0157: 0.003 is 3.8 standard errors, false alarm 1.3e-4.
  const Moments fresh = traces([](std::uint64_t seed) { return fht_kac(64, seed); }, 400);
  EXPECT_NEAR(fresh.mean(), 0, 0.003);
  EXPECT_NEAR(fresh.standard_deviation(), 0.0157, 0.0157 * 4 / std::sqrt(2.0 * 400));

  // Planted fault: every round reads the flips from offset 0. (H S)^4 then has trace/d about 1/64 and four times the
  // spread.
  const auto reused = [](std::uint64_t seed) {
    FastRotation rotation(64, "reused", "");
    for (int round = 0; round < 4; ++round) {
      RngStream rng(seed, Domain::kRotation, 0);
      rotation.add_signs(rng);
      rotation.add_hadamard(0, 64);
    }
    return rotation;
  };
  const Moments faulty = traces(reused, 400);
  EXPECT_GT(std::abs(faulty.mean()), 0.003);
  EXPECT_GT(faulty.standard_deviation(), 0.04);
}

TEST(FastRotation, EveryCoordinateIsSpreadOverEveryOther) {
  // A coordinate left out by both windows, or seen by one alone, would keep R_ij large or zero. After three rounds
  // each R_ij is about N(0, 1/d); 12 / sqrt(d) stands for 12 standard deviations, beyond reach at these sizes.
  for (const std::size_t d : {65U, 80U, 96U, 112U, 127U, 192U, 255U, 576U}) {
    SCOPED_TRACE(d);
    for (const FastRotation& rotation : {randomized_hadamard(d, 3, 1), fht_kac(d, 1), kac_walk(d, 4, 1)}) {
      const Eigen::MatrixXd r = dense(rotation);
      EXPECT_LT(r.cwiseAbs().maxCoeff(), 12 / std::sqrt(static_cast<double>(d)));
      // Energy of the first half of every column: 1/2 in the mean, variance about 1 / (2 d).
      const auto half = static_cast<Eigen::Index>(d / 2);
      for (Eigen::Index j = 0; j < r.cols(); ++j) {
        EXPECT_NEAR(r.col(j).head(half).squaredNorm(), 0.5, 8 / std::sqrt(2.0 * static_cast<double>(d)));
      }
    }
  }
}

TEST(FastRotation, MatchingsOfRandomPlanesAreUniform) {
  // The partner of coordinate 0 over 10000 seeds: chi-square with 126 degrees of freedom within [70, 200] (below 1e-5
  // outside), and an even partner as often as 63 of 127 times. A generator whose low bits have short periods fails
  // both.
  constexpr std::size_t kDim = 128;
  std::vector<double> counts(kDim, 0.0);
  double even = 0;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    FastRotation rotation(kDim, "one matching", "");
    RngStream rng(seed, Domain::kRotation, 0);
    rotation.add_random_planes(rng);
    std::vector<double> x(kDim, 0.0);
    x[0] = 1;
    rotation.rotate(x);
    const auto partner =
        static_cast<std::size_t>(std::find_if(x.begin() + 1, x.end(), [](double v) { return v != 0; }) - x.begin());
    ASSERT_LT(partner, kDim) << "an angle of exactly zero";
    ++counts[partner];
    even += partner % 2 == 0 ? 1 : 0;
  }
  double chi_square = 0;
  for (std::size_t k = 1; k < kDim; ++k) chi_square += std::pow(counts[k] - 10000.0 / 127, 2) / (10000.0 / 127);
  EXPECT_GT(chi_square, 70);
  EXPECT_LT(chi_square, 200);
  EXPECT_NEAR(even / 10000, 63.0 / 127, 0.02);  // 4 standard errors
}

TEST(FastRotation, RefusesImpossibleRequests) {
  EXPECT_THROW(randomized_hadamard(8, 0, 1), InvalidArgument);
  EXPECT_THROW(randomized_hadamard(0, 1, 1), InvalidArgument);
  EXPECT_THROW(randomized_hadamard(8, 65, 1), InvalidArgument);
  EXPECT_THROW(fht_kac(0, 1), InvalidArgument);
  EXPECT_THROW(kac_walk(8, -1, 1), InvalidArgument);
  EXPECT_THROW(block_hadamard(8, 3, 1), InvalidArgument);
  EXPECT_THROW(block_hadamard(8, 0, 1), InvalidArgument);
  EXPECT_THROW(plain_hadamard(0), InvalidArgument);
  FastRotation rotation(8, "", "");
  EXPECT_THROW(rotation.add_hadamard(5, 4), InvalidArgument);
  EXPECT_THROW(rotation.add_hadamard(0, 16), InvalidArgument);
  EXPECT_THROW(rotation.add_hadamard(0, 3), InvalidArgument);
}

// Codes must not depend on the machine: whatever vectors it has, every butterfly is the same sum of the same two
// floats.
TEST(FastRotation, FloatsHaveTheBitsOfPlainButterflies) {
  for (std::size_t d = 1; d <= 2048; d *= 2) {
    const FastRotation rotation = randomized_hadamard(d, 2, 5);
    Matrix<float> x(3, d), y(3, d);
    RngStream(3, Domain::kData, d).fill_normal(std::span(x.data(), 3 * d));
    Workspace work(rotation.workspace_bytes(3));
    rotation.apply_keys(x.view(), y.view(), work);
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
    for (std::size_t row = 0; row < 3; ++row) {
      const std::span<float> v = x.row(row);
      for (std::size_t round = 0; round < 2; ++round) {
        for (std::size_t j = 0; j < d; ++j) v[j] *= rotation.signs()[round * d + j];
        for (std::size_t h = 1; h < d; h *= 2)
          for (std::size_t j = 0; j < d; ++j)
            if ((j & h) == 0) {
              const float sum = v[j] + v[j + h];
              v[j + h] = v[j] - v[j + h];
              v[j] = sum;
            }
        for (float& value : v) value *= scale;
      }
      for (std::size_t j = 0; j < d; ++j) ASSERT_EQ(y(row, j), v[j]) << "d = " << d << ", coordinate " << j;
    }
  }
}

}  // namespace
}  // namespace orthant::transform

#include "orthant/transform/haar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/core/rng.h"
#include "transform/dense.h"

namespace orthant::transform {
namespace {

/// The same factor as Haar's, but as LAPACK and Eigen leave it: no signs taken from the triangle's diagonal.
Eigen::MatrixXd householder_q(std::size_t dim, std::uint64_t seed) {
  const auto d = static_cast<Eigen::Index>(dim);
  std::vector<double> normals(dim * dim);
  RngStream(seed, Domain::kRotation, 0).fill_normal(normals);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(Eigen::Map<const RowMajor>(normals.data(), d, d));
  return qr.householderQ() * Eigen::MatrixXd::Identity(d, d);
}

struct Entries {
  Moments corner;         // R_00
  Moments corner_square;  // R_00^2
  Moments trace;
  Moments determinant;
};

template <class Draw>
Entries entries_of(Draw draw, int draws) {
  Entries e;
  for (int seed = 0; seed < draws; ++seed) {
    const Eigen::MatrixXd r = draw(static_cast<std::uint64_t>(seed));
    e.corner.add(r(0, 0));
    e.corner_square.add(r(0, 0) * r(0, 0));
    e.trace.add(r.trace());
    e.determinant.add(r.determinant());
  }
  return e;
}

// Every comparison below is two-sided at 4 standard errors: false alarm 6.3e-5 each; seeds are fixed.
bool within_4_se(const Moments& m, double expected) { return std::abs(m.mean() - expected) <= 4 * m.standard_error(); }

TEST(Haar, LowMomentsAreThoseOfTheHaarMeasure) {
  for (const std::size_t d : {2U, 3U, 16U}) {
    SCOPED_TRACE(d);
    const Entries e = entries_of([&](std::uint64_t seed) { return dense(Haar(d, seed)); }, 4000);
    EXPECT_TRUE(within_4_se(e.corner, 0));
    EXPECT_TRUE(within_4_se(e.corner_square, 1.0 / static_cast<double>(d)));
    EXPECT_TRUE(within_4_se(e.trace, 0));
    EXPECT_TRUE(within_4_se(e.determinant, 0)) << "both components of O(d) are equally likely";
    // E tr^2 = 1 for O(d), d >= 2 (Diaconis & Shahshahani 1994); E tr = 0, so it is the variance. At d = 2 the kurtosis
    // of the trace is 3; a relative error of 4 sqrt(2 / n) covers 4 standard errors.
    EXPECT_NEAR(e.trace.variance(), 1, 4 * std::sqrt(2.0 / 4000));
  }
}

TEST(Haar, MomentsNoticeAMissingSignFix) {
  const Entries e = entries_of([](std::uint64_t seed) { return householder_q(16, seed); }, 400);
  EXPECT_FALSE(within_4_se(e.corner, 0));
  EXPECT_LT(e.corner.max(), 0) << "Householder's own choice makes every corner negative";
}

TEST(Haar, OneDimensionIsAFairSign) {
  Moments m;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const double r = dense(Haar(1, seed))(0, 0);
    EXPECT_EQ(std::abs(r), 1);
    m.add(r);
  }
  EXPECT_TRUE(within_4_se(m, 0));
}

TEST(Haar, RefusesImpossibleDimensions) {
  EXPECT_THROW(Haar(0, 1), InvalidArgument);
  EXPECT_THROW(Haar(32769, 1), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform

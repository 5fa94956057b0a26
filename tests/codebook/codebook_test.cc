#include "orthant/codebook/codebook.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Codebook, BoundariesAreMidpointsAndTiesGoDown) {
  const Codebook book("sphere", 3, 2, {-0.75, -0.25, 0.25, 0.75}, 1.0 / 48, 2);
  ASSERT_EQ(book.boundaries().size(), 3U);
  EXPECT_EQ(book.boundaries()[0], -0.5);
  EXPECT_EQ(book.code(-0.5), 0U);
  EXPECT_EQ(book.code(std::nextafter(-0.5, 0.0)), 1U);
  EXPECT_EQ(book.code(0), 1U);
  EXPECT_EQ(book.code(0.5), 2U);
  EXPECT_EQ(book.code(-kInf), 0U);
  EXPECT_EQ(book.code(kInf), 3U);
  for (std::size_t k = 0; k < book.size(); ++k) EXPECT_EQ(book.code(book.centroids()[k]), k);
}

TEST(Codebook, ZeroBitsIsOneCentroid) {
  const Codebook book("sphere", 8, 0, {0.0}, 0.125, 0);
  EXPECT_TRUE(book.boundaries().empty());
  EXPECT_EQ(book.code(-kInf), 0U);
  EXPECT_EQ(book.code(kInf), 0U);
}

TEST(Codebook, NeighbouringDoublesAreStillALegalCodebook) {
  const Codebook book("sphere", 3, 1, {1.0, std::nextafter(1.0, 2.0)}, 0, 1);
  EXPECT_EQ(book.code(1.0), 0U);
}

TEST(Codebook, WhatIsNotACodebookIsRefused) {
  const auto make = [](int bits, std::vector<double> c, double distortion = 0.1, double entropy = 0) {
    return Codebook("sphere", 3, bits, std::move(c), distortion, entropy);
  };
  EXPECT_THROW(make(-1, {0}), InvalidArgument);
  EXPECT_THROW(make(17, {0}), InvalidArgument);
  EXPECT_THROW(make(1, {0}), InvalidArgument);
  EXPECT_THROW(make(1, {0, 1, 2}), InvalidArgument);
  EXPECT_THROW(make(1, {1, 0}), InvalidArgument);
  EXPECT_THROW(make(1, {1, 1}), InvalidArgument);
  EXPECT_THROW(make(1, {0, kInf}), InvalidArgument);
  EXPECT_THROW(make(1, {std::nan(""), 1}), InvalidArgument);
  EXPECT_THROW(make(1, {0, 1}, -1), InvalidArgument);
  EXPECT_THROW(make(1, {0, 1}, std::nan("")), InvalidArgument);
  EXPECT_THROW(make(1, {0, 1}, 0.1, 1.5), InvalidArgument);
  EXPECT_THROW(Codebook("sphere", -1, 0, {0}, 0, 0), InvalidArgument);
}

TEST(Codebook, GivenBoundariesMustBeTheMidpointsUpToRounding) {
  const auto make = [](double t) { return Codebook("sphere", 3, 1, {0.5, 1.0}, {t}, 0.1, 1); };
  const double ulp = std::numeric_limits<double>::epsilon();
  EXPECT_EQ(make(0.75 + ulp).boundaries()[0], 0.75 + ulp);
  EXPECT_THROW(make(0.75 + 8 * ulp), InvalidArgument);
  EXPECT_THROW(make(0.5), InvalidArgument);
  EXPECT_THROW(make(std::nan("")), InvalidArgument);
}

}  // namespace
}  // namespace orthant::codebook

#include "orthant/transform/segments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant::transform {
namespace {

// Distortion of the optimal Gaussian quantizer, widths 0 to 8 (Max 1960).
const std::vector<double> kGaussian = {1,        0.363380, 0.117482,  0.0345477, 0.00950101,
                                       0.002505, 6.442e-4, 1.6348e-4, 4.1185e-5};

std::vector<double> falling(std::size_t d, double octaves) {
  std::vector<double> lambda(d);
  for (std::size_t i = 0; i < d; ++i) lambda[i] = std::exp2(-octaves * static_cast<double>(i) / static_cast<double>(d));
  return lambda;
}

TEST(Segments, ErrorOfOneSegmentIsTheUnsegmentedFormula) {
  const std::vector<double> lambda = {4, 1};
  EXPECT_DOUBLE_EQ(segments_error(std::vector<Segment>{{0, 2, 2}}, lambda, kGaussian), kGaussian[2] * 9 / 2);
  EXPECT_DOUBLE_EQ(segments_error(std::vector<Segment>{{0, 1, 3}, {1, 1, 0}}, lambda, kGaussian), kGaussian[3] * 4 + 1);
  EXPECT_THROW(segments_error(std::vector<Segment>{{0, 2, 9}}, lambda, kGaussian), InvalidArgument);
  EXPECT_THROW(segments_error(std::vector<Segment>{{1, 2, 1}}, lambda, kGaussian), InvalidArgument);
}

TEST(Segments, OneSegmentTakesTheWidestThatFits) {
  const std::vector<double> lambda = falling(64, 3);
  EXPECT_EQ(best_segments(lambda, kGaussian, {.most = 1, .bytes = 64 * 3 / 8 + 2}), (std::vector<Segment>{{0, 64, 3}}));
  EXPECT_EQ(best_segments(lambda, kGaussian, {.most = 1, .bytes = 64 * 3 / 8 + 1}), (std::vector<Segment>{{0, 64, 2}}));
  EXPECT_EQ(best_segments(lambda, kGaussian, {.most = 1, .bytes = 0}), (std::vector<Segment>{{0, 64, 0}}));
  EXPECT_EQ(best_segments(lambda, kGaussian, {.most = 1, .bytes = 10000}), (std::vector<Segment>{{0, 64, 8}}));
}

TEST(Segments, AFlatSpectrumIsNotCut) {
  const std::vector<double> flat(128, 2.0);
  EXPECT_EQ(best_segments(flat, kGaussian, {.most = 4, .bytes = 128 * 3 / 8 + 2}), (std::vector<Segment>{{0, 128, 3}}));
}

TEST(Segments, AreTheBestOfAllCuts) {
  RngStream rng(3, Domain::kData, 1);
  for (int round = 0; round < 6; ++round) {
    std::vector<double> lambda = falling(40, 4 + 2 * round);
    for (double& value : lambda) value *= std::exp(0.3 * rng.normal());
    const std::size_t bytes = static_cast<std::size_t>(10 + 3 * round);
    const SegmentLimits limits{.most = 3, .bytes = bytes};
    // Every way to cut 5 pieces of 8 into at most 3 segments, every width.
    double least = std::numeric_limits<double>::infinity();
    std::vector<Segment> tried;
    const std::function<void(std::size_t)> extend = [&](std::size_t first) {
      if (first == 40) {
        if (segment_bytes(tried, limits.norm_bytes) <= bytes)
          least = std::min(least, segments_error(tried, lambda, kGaussian));
        return;
      }
      if (tried.size() == limits.most) return;
      for (std::size_t end = first + 8; end <= 40; end += 8)
        for (int bits = 0; bits <= 8; ++bits) {
          tried.push_back({first, end - first, bits});
          extend(end);
          tried.pop_back();
        }
    };
    extend(0);
    const std::vector<Segment> best = best_segments(lambda, kGaussian, limits);
    EXPECT_LE(segment_bytes(best, limits.norm_bytes), bytes);
    // Sums of at most 40 roots in another order.
    EXPECT_NEAR(segments_error(best, lambda, kGaussian), least, 1e-13 * least);
  }
}

TEST(Segments, CoverEveryCoordinateOnceAndWidthsFall) {
  for (const std::size_t d : {1U, 7U, 8U, 80U, 256U, 300U, 1024U}) {
    const std::vector<double> lambda = falling(d, 20);
    const SegmentLimits limits{.most = 4, .bytes = (3 * d + 7) / 8 + 2};
    const std::vector<Segment> best = best_segments(lambda, kGaussian, limits);
    std::size_t next = 0;
    int width = 8;
    for (const Segment& s : best) {
      EXPECT_EQ(s.first, next) << d;
      EXPECT_GT(s.count, 0U);
      EXPECT_LE(s.bits, width);
      width = s.bits;
      next = s.first + s.count;
    }
    EXPECT_EQ(next, d);
    EXPECT_LE(segment_bytes(best, limits.norm_bytes), limits.bytes);
  }
}

TEST(Segments, RefuseNonsense) {
  EXPECT_TRUE(best_segments({}, kGaussian, {}).empty());
  EXPECT_THROW(best_segments(std::vector<double>{1}, kGaussian, {.most = 0}), InvalidArgument);
  EXPECT_THROW(best_segments(std::vector<double>{1}, {}, {}), InvalidArgument);
  EXPECT_THROW(best_segments(std::vector<double>{-1}, kGaussian, {}), InvalidArgument);
  EXPECT_THROW(best_segments(std::vector<double>{std::nan("")}, kGaussian, {}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform

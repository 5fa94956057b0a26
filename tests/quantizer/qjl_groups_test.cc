#include "orthant/quantizer/qjl_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/quantizer/make_streaming.h"
#include "orthant/quantizer/qjl.h"
#include "orthant/quantizer/split_channels.h"
#include "orthant/transform/identity.h"
#include "quantizer/coding.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

std::shared_ptr<const Sketch> sketch(std::size_t dim, std::size_t rows, std::uint64_t index = 0) {
  return std::make_shared<const Sketch>(SketchKind::kOrthogonal, dim, rows, 5, index);
}

/// n tokens of normal values, the given channels ten times as loud.
Matrix<float> loud_tokens(std::size_t n, std::size_t dim, std::initializer_list<std::size_t> loud,
                          std::uint64_t trial = 0) {
  Matrix<float> x(n, dim);
  RngStream(8, Domain::kData, trial).fill_normal(std::span<float>(x.data(), n * dim));
  for (std::size_t t = 0; t < n; ++t)
    for (const std::size_t c : loud) x(t, c) *= 10;
  return x;
}

Matrix<float> round_trip(const QjlGroups& codec, MatrixView<const float> x) {
  Workspace work(codec.workspace_bytes());
  std::vector<std::uint8_t> block(codec.max_block_bytes());
  EXPECT_EQ(codec.encode(x, block, work), block.size());
  Matrix<float> y(x.rows(), x.cols());
  codec.decode(block, y.view(), work);
  return y;
}

TEST(QjlGroups, IsQjlOfTheTwoPartsOfAKey) {
  const std::size_t dim = 48;
  const auto inner = sketch(dim, 100);
  const auto outer = sketch(dim, 56);
  const auto identity = std::make_shared<const transform::Identity>(dim);
  const Matrix<float> x = loud_tokens(8, dim, {3, 17, 40});
  EXPECT_EQ(loudest_channels(x.view(), 3), (std::vector<std::size_t>{3, 17, 40}));
  const Matrix<float> y = round_trip(QjlGroups(inner, outer, 3, 8, ScaleFormat::kFloat), x.view());
  for (std::size_t t = 0; t < 8; ++t) {
    for (const bool loud : {false, true}) {
      std::vector<float> part(dim);
      const auto belongs = [&](std::size_t c) { return (c == 3 || c == 17 || c == 40) == loud; };
      for (std::size_t c = 0; c < dim; ++c) part[c] = belongs(c) ? x(t, c) : 0.0F;
      const Qjl qjl(identity, loud ? outer : inner, ScaleFormat::kFloat);
      const std::vector<float> expected = decode_one(qjl, encode_one(qjl, part));
      for (std::size_t c = 0; c < dim; ++c) {
        if (!belongs(c)) continue;
        EXPECT_NEAR(y(t, c), expected[c], 1e-5 * std::abs(expected[c]) + 1e-6) << t << ' ' << c;
      }
    }
  }
}

TEST(QjlGroups, BytesAndScheduleOfTheReleasedCode) {
  // 256 bits and 8 outlier channels with 256 more, groups of 32, 128 exact: 8 places, then 2 norms and 64 bytes a
  // token.
  const Method method = parse_method("qjl:256,sketch=orthogonal,outliers=8,residual=128");
  const auto quantizer = make_streaming(method, CacheSide::kKeys, 128, {});
  EXPECT_EQ(quantizer->codec().max_block_bytes(), 8U + 32 * (4 + 64));
  EXPECT_EQ(quantizer->codec().metadata_bytes(0), 8U + 32 * 4);
  const FlushSchedule& schedule = quantizer->schedule();
  for (const auto& [tokens, coded] :
       {std::pair<std::size_t, std::size_t>{1, 0}, {127, 0}, {128, 128}, {129, 128}, {255, 128}, {256, 256}}) {
    EXPECT_EQ(schedule.coded(tokens), coded);
    EXPECT_EQ(schedule.coded_when_read(tokens), coded) << "the sketch is updated before it is read";
  }
  // Channels beyond a byte take two.
  const QjlGroups wide(sketch(300, 64), sketch(300, 64), 4, 2, ScaleFormat::kHalf);
  EXPECT_EQ(wide.max_block_bytes(), 2U * 4 + 2 * (4 + 16));
  const Matrix<float> x = loud_tokens(2, 300, {10, 255, 256, 299});
  const Matrix<float> y = round_trip(wide, x.view());
  for (const std::size_t c : {10U, 255U, 256U, 299U}) EXPECT_GT(std::abs(y(0, c)), 0) << c;
}

TEST(QjlGroups, ScoresAreUnbiasedAndLessNoisyThanWithoutOutliers) {
  // Mean error over 1000 sketches within 4 standard errors: false alarm 6.3e-5 each.
  const std::size_t dim = 32;
  const Matrix<float> x = loud_tokens(4, dim, {5, 9}, 1);
  const std::vector<float> q = normal_vector(dim, 3);
  Moments error;
  Moments gain;
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    const QjlGroups codec(sketch(dim, 64, draw), sketch(dim, 64, draw), 2, 4, ScaleFormat::kHalf);
    const Matrix<float> y = round_trip(codec, x.view());
    const Qjl plain(std::make_shared<const transform::Identity>(dim), sketch(dim, 128, draw));
    const double truth = inner_product(q, x.row(0));
    const double e = inner_product(q, y.row(0)) - truth;
    error.add(e);
    const double p = static_cast<double>(estimate_one(plain, q, encode_one(plain, x.row(0)))) - truth;
    gain.add(p * p - e * e);
  }
  EXPECT_NEAR(error.mean(), 0, 4 * error.standard_error() + 0x1p-11 * 40) << "norms in binary16";
  EXPECT_GT(gain.mean(), 4 * gain.standard_error());
}

TEST(QjlGroups, KeepsQuietChannelsBesideVeryLoudOnes) {
  // |k|^2 - |k_out|^2 from two binary16 norms would lose the inliers here: 1000^2 against 1.
  Matrix<float> x(1, 64);
  x(0, 7) = 1000;
  for (std::size_t c = 8; c < 64; ++c) x(0, c) = 0.13F;
  const Matrix<float> y = round_trip(QjlGroups(sketch(64, 256), sketch(64, 64), 1, 1, ScaleFormat::kHalf), x.view());
  double dot = 0;
  for (std::size_t c = 8; c < 64; ++c) dot += static_cast<double>(y(0, c)) * 0.13;
  EXPECT_NEAR(dot, 56 * 0.13 * 0.13, 0.3) << "|k_in|^2, four standard deviations of sqrt((pi/2 - 3/2) / 256)";
}

TEST(QjlGroups, RefusesSizesThatCannotWork) {
  const auto one = sketch(16, 32);
  EXPECT_THROW(QjlGroups(one, sketch(8, 32), 2, 4, ScaleFormat::kHalf), InvalidArgument);
  EXPECT_THROW(QjlGroups(one, one, 0, 4, ScaleFormat::kHalf), InvalidArgument);
  EXPECT_THROW(QjlGroups(one, one, 16, 4, ScaleFormat::kHalf), InvalidArgument);
  EXPECT_THROW(QjlGroups(one, one, 2, 0, ScaleFormat::kHalf), InvalidArgument);
  for (const char* text : {"qjl:64,outliers=8,residual=100", "qjl:64,outliers=8,rotation=haar", "qjl:64,outliers=64",
                           "qjl:64,outlier_rows=9"})
    EXPECT_THROW(make_streaming(parse_method(text), CacheSide::kKeys, 64, {}), InvalidArgument) << text;
  Matrix<float> x(4, 16);
  x(3, 2) = 1e6F;
  const QjlGroups codec(one, one, 2, 4, ScaleFormat::kHalf);
  Workspace work(codec.workspace_bytes());
  std::vector<std::uint8_t> block(codec.max_block_bytes());
  EXPECT_THROW(codec.encode(x.view(), block, work), InvalidArgument);
}

}  // namespace
}  // namespace orthant::quantizer

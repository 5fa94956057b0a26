// turbo-prod, qjl and split channels: definitions and edges. Bias and variance are in estimator_moments_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/quantizer/qjl.h"
#include "orthant/quantizer/split_channels.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/quantizer/turbo_prod.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/identity.h"
#include "quantizer/coding.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

using codebook::sphere_codebook;

std::shared_ptr<const transform::Identity> identity(std::size_t d) {
  return std::make_shared<const transform::Identity>(d);
}
std::shared_ptr<const Sketch> sketch(SketchKind kind, std::size_t d, std::size_t rows) {
  return std::make_shared<const Sketch>(kind, d, rows, 1);
}

TEST(Sketch, ProjectionsAreAdjoint) {
  // <S x, s> = <x, S^T s>, for rows that fill blocks and rows that do not.
  for (const SketchKind kind : {SketchKind::kGaussian, SketchKind::kOrthogonal, SketchKind::kHadamard}) {
    for (const std::size_t rows : {1U, 20U, 48U, 50U, 96U, 130U}) {
      const Sketch s(kind, 48, rows, 3);
      const std::vector<float> x = normal_vector(48, 1);
      const std::vector<float> t = normal_vector(rows, 2);
      std::vector<float> projected(rows);
      std::vector<float> back(48);
      Workspace work(s.workspace_bytes());
      s.project(x, projected, work);
      s.project_back(t, back, work);
      const double left = inner_product(projected, t);
      const double scale = std::sqrt(inner_product(projected, projected) * inner_product(t, t));
      EXPECT_NEAR(left, inner_product(x, back), 200 * 0x1p-24 * scale) << name(kind) << rows;
    }
  }
}

TEST(Qjl, ErrorsOrthogonalToTheKeyAreExactlyGaussian) {
  // P(|error| > eps) = 2 Q(eps sqrt(2m / pi)) over sketches: 1.16e-2 at m = 1000, eps = 0.1, where the published lemma
  // promises 2.2e-3. Here m = 64, eps = 0.35: 2 Q(2.2341) = 2.548e-2. 4 binomial standard errors, false alarm 6.3e-5.
  const std::size_t d = 32;
  std::size_t beyond = 0;
  const std::size_t draws = 8000;
  std::vector<float> q(d);
  std::vector<float> k(d);
  q[0] = 1;
  k[1] = 1;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const Qjl qjl(identity(d), std::make_shared<const Sketch>(SketchKind::kGaussian, d, 64, 4, draw),
                  ScaleFormat::kFloat);
    beyond += std::abs(estimate_one(qjl, q, encode_one(qjl, k))) > 0.35F ? 1U : 0U;
  }
  const double expected = std::erfc(0.35 * std::sqrt(2 * 64 / std::numbers::pi) / std::numbers::sqrt2);
  EXPECT_NEAR(static_cast<double>(beyond) / draws, expected, 4 * std::sqrt(expected * (1 - expected) / draws));
}

TEST(TurboProd, ResidualOfAPointOnTheCodebookIsNothing) {
  // d = 4, levels +-1/2: a vector of equal magnitudes is on the codebook.
  const std::size_t d = 4;
  const codebook::Codebook book("sphere", 4, 1, {-0.5, 0.5}, 0.1, 1);
  const TurboProd prod(identity(d), book, sketch(SketchKind::kGaussian, d, d),
                       {ResidualNorm::kStored, ScaleFormat::kHalf});
  const std::vector<float> x = {2, -2, 2, 2};
  const std::vector<std::uint8_t> packed = encode_one(prod, x);
  EXPECT_EQ(load_scale(ScaleFormat::kHalf, packed.data() + 2), 0) << "gamma";
  EXPECT_EQ(decode_one(prod, packed), x);
  EXPECT_EQ(estimate_one(prod, std::vector<float>{1, 2, 3, 4}, packed), 12);
}

TEST(TurboProd, OneBitHasNoCentroidsAndIsQjl) {
  const std::size_t d = 64;
  const auto rotation = std::make_shared<const transform::Haar>(d, 2);
  const auto s = sketch(SketchKind::kGaussian, d, d);
  const TurboProd prod(rotation, sphere_codebook(64, 0), s);
  const Qjl qjl(rotation, s);
  EXPECT_EQ(prod.bits(), 1);
  EXPECT_EQ(prod.bytes_per_vector(), 2U + 8U);
  const std::vector<float> x = normal_vector(d, 1);
  const std::vector<float> q = normal_vector(d, 2);
  EXPECT_EQ(encode_one(prod, x), encode_one(qjl, x));
  EXPECT_FLOAT_EQ(estimate_one(prod, q, encode_one(prod, x)), estimate_one(qjl, q, encode_one(qjl, x)));
}

TEST(TurboProd, ConstantGammaIsTheRootMeanSquareResidual) {
  const std::size_t d = 128;
  const auto rotation = std::make_shared<const transform::Haar>(d, 2);
  const TurboProd stored(rotation, sphere_codebook(128, 3), sketch(SketchKind::kOrthogonal, d, d));
  const TurboProd constant(rotation, sphere_codebook(128, 3), sketch(SketchKind::kOrthogonal, d, d),
                           {ResidualNorm::kConstant, ScaleFormat::kHalf});
  EXPECT_EQ(stored.bytes_per_vector(), constant.bytes_per_vector() + 2);
  // The released code's constants: 1, .60281, .3426687, .185758, .0974343, close to sqrt(d C(f_d, b - 1)) at d = 128.
  const double gamma = std::sqrt(128 * sphere_codebook(128, 3).distortion());
  EXPECT_NEAR(gamma, 0.185758, 0.002);
  Moments squares;
  for (std::uint64_t trial = 0; trial < 500; ++trial) {
    const double g = load_scale(ScaleFormat::kHalf, encode_one(stored, normal_vector(d, trial)).data() + 2);
    squares.add(g * g);
  }
  EXPECT_NEAR(squares.mean(), gamma * gamma, 4 * squares.standard_error());
}

TEST(TurboProd, RefusesPartsOfDifferentSizes) {
  EXPECT_THROW(TurboProd(identity(8), sphere_codebook(9, 2), sketch(SketchKind::kGaussian, 8, 8)), InvalidArgument);
  EXPECT_THROW(TurboProd(identity(8), sphere_codebook(8, 8), sketch(SketchKind::kGaussian, 8, 8)), InvalidArgument);
  EXPECT_THROW(TurboProd(identity(8), sphere_codebook(8, 2), sketch(SketchKind::kGaussian, 9, 8)), InvalidArgument);
  EXPECT_THROW(TurboProd(identity(8), sphere_codebook(8, 2), sketch(SketchKind::kGaussian, 8, 9)), InvalidArgument);
  EXPECT_THROW(Qjl(identity(8), sketch(SketchKind::kGaussian, 9, 8)), InvalidArgument);
  EXPECT_THROW(Sketch(SketchKind::kGaussian, 0, 8, 1), InvalidArgument);
  EXPECT_THROW(Sketch(SketchKind::kGaussian, 8, 0, 1), InvalidArgument);
}

SplitChannels split_32_of_128() {
  std::vector<std::size_t> channels(32);
  for (std::size_t j = 0; j < 32; ++j) channels[j] = 4 * j + 1;
  const auto part = [](std::size_t d, int bits) {
    return std::make_shared<const TurboMse>(std::make_shared<const transform::Haar>(d, 3, d),
                                            sphere_codebook(static_cast<std::int64_t>(d), bits));
  };
  return {channels, part(32, 3), part(96, 2), "split:3+2,channels=32"};
}

TEST(SplitChannels, PartsHaveTheDistortionOfTheirOwnDimension) {
  const SplitChannels split = split_32_of_128();
  EXPECT_EQ(split.bits_per_element(), 2.5);  // 2.25 of codes and two 16-bit norms: published as 2.5
  Moments loud;
  Moments quiet;
  for (std::uint64_t trial = 0; trial < 1500; ++trial) {
    std::vector<float> x = normal_vector(128, trial);
    for (const std::size_t j : split.channels()) x[j] *= 10;
    const std::vector<float> x_hat = round_trip(split, x);
    double energy[2] = {};
    double error[2] = {};
    for (std::size_t j = 0; j < 128; ++j) {
      const std::size_t part = j % 4 == 1 ? 0 : 1;
      energy[part] += static_cast<double>(x[j]) * x[j];
      error[part] += std::pow(static_cast<double>(x[j]) - x_hat[j], 2);
    }
    loud.add(error[0] / energy[0]);
    quiet.add(error[1] / energy[1]);
  }
  // 4 standard errors, false alarm 6.3e-5. The table of d = 128 on 32 channels would give 0.1258, 3.9 times as much.
  EXPECT_NEAR(loud.mean(), 32 * sphere_codebook(32, 3).distortion(), 4 * loud.standard_error());
  EXPECT_NEAR(quiet.mean(), 96 * sphere_codebook(96, 2).distortion(), 4 * quiet.standard_error());
}

TEST(SplitChannels, EstimatesAddAndChannelsAreChecked) {
  const SplitChannels split = split_32_of_128();
  const std::vector<float> q = normal_vector(128, 1);
  const std::vector<std::uint8_t> packed = encode_one(split, normal_vector(128, 2));
  EXPECT_NEAR(estimate_one(split, q, packed), inner_product(q, decode_one(split, packed)), 1e-4);
  const auto part = std::make_shared<const TurboMse>(identity(2), sphere_codebook(2, 2));
  EXPECT_THROW(SplitChannels({0}, part, part, ""), InvalidArgument);
  EXPECT_THROW(SplitChannels({1, 1}, part, part, ""), InvalidArgument);
  EXPECT_THROW(SplitChannels({1, 4}, part, part, ""), InvalidArgument);
  EXPECT_NO_THROW(SplitChannels({3, 0}, part, part, ""));
}

TEST(SplitChannels, LoudestChannelsByEnergyLowerFirst) {
  Matrix<float> x(2, 4);
  x(0, 0) = 1;
  x(1, 1) = -3;
  x(0, 2) = 1;
  x(1, 3) = 3;
  EXPECT_EQ(loudest_channels(x.view(), 3), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_TRUE(loudest_channels(x.view(), 0).empty());
  EXPECT_THROW(loudest_channels(x.view(), 5), InvalidArgument);
}

}  // namespace
}  // namespace orthant::quantizer

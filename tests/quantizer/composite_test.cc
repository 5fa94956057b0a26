#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "orthant/core/error.h"
#include "orthant/quantizer/centred.h"
#include "orthant/quantizer/concatenated.h"
#include "orthant/quantizer/make_quantizer.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

std::unique_ptr<VectorQuantizer> make(const char* method, std::size_t dim) {
  return make_quantizer(parse_method(method), dim);
}

Concatenated three_parts() {
  return Concatenated({{8, make("turbo-mse:4", 8)}, {5, make("turbo-mse:2", 5)}, {3, nullptr}});
}

TEST(Concatenated, IsItsPartsSideBySide) {
  const Concatenated whole = three_parts();
  EXPECT_EQ(whole.dim(), 16U);
  EXPECT_EQ(whole.bytes_per_vector(), (2U + 4U) + (2U + 2U));
  EXPECT_EQ(whole.metadata_bytes(), 4U);
  const std::vector<float> x = normal_vector(16, 1);
  const std::span<const float> parts = x;
  const std::vector<float> x_hat = round_trip(whole, x);
  const std::vector<float> first = round_trip(*make("turbo-mse:4", 8), parts.first(8));
  const std::vector<float> second = round_trip(*make("turbo-mse:2", 5), parts.subspan(8, 5));
  for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(x_hat[j], first[j]);
  for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(x_hat[8 + j], second[j]);
  for (std::size_t j = 13; j < 16; ++j) EXPECT_EQ(x_hat[j], 0);
}

TEST(Concatenated, EstimatesWhatItDecodes) {
  const Concatenated whole = three_parts();
  const std::vector<float> x = normal_vector(16, 2), q = normal_vector(16, 3);
  const std::vector<float> x_hat = round_trip(whole, x);
  double dot = 0;
  for (std::size_t j = 0; j < 16; ++j) dot += static_cast<double>(q[j]) * static_cast<double>(x_hat[j]);
  EXPECT_NEAR(estimate_one(whole, q, encode_one(whole, x)), dot, 1e-5);  // a few dozen roundings of sums below 20
}

TEST(Concatenated, RefusesPartsThatDoNotFit) {
  EXPECT_THROW(Concatenated({}), InvalidArgument);
  EXPECT_THROW(Concatenated({{0, nullptr}}), InvalidArgument);
  EXPECT_THROW(Concatenated({{7, make("turbo-mse:4", 8)}}), InvalidArgument);
}

TEST(Centred, TakesTheMeanOffAndPutsItBack) {
  const std::vector<float> mean = normal_vector(12, 4, 100);
  const Centred centred(mean, make("turbo-mse:4", 12));
  EXPECT_EQ(centred.bytes_per_vector(), make("turbo-mse:4", 12)->bytes_per_vector());
  const std::vector<float> rest = normal_vector(12, 5), q = normal_vector(12, 6);
  std::vector<float> x(12), off(12);
  for (std::size_t j = 0; j < 12; ++j) x[j] = mean[j] + rest[j];
  for (std::size_t j = 0; j < 12; ++j) off[j] = x[j] - mean[j];
  const std::vector<float> x_hat = round_trip(centred, x), off_hat = round_trip(*make("turbo-mse:4", 12), off);
  double dot = 0;
  for (std::size_t j = 0; j < 12; ++j) {
    EXPECT_EQ(x_hat[j], off_hat[j] + mean[j]);
    dot += static_cast<double>(q[j]) * static_cast<double>(x_hat[j]);
  }
  EXPECT_NEAR(estimate_one(centred, q, encode_one(centred, x)), dot, 1e-3);  // sums up to 1000, relative 2^-24 each
}

TEST(Centred, CodesRowsWithinRoundingOfTheMeanAsTheMean) {
  const std::vector<float> mean(16, 1000.0F);
  const Centred centred(mean, make("turbo-mse:4", 16));
  std::vector<float> x = mean;
  EXPECT_EQ(round_trip(centred, x), mean);
  x[3] = std::nextafter(1000.0F, 2000.0F);  // below what a half-precision norm can hold: would be refused
  EXPECT_EQ(round_trip(centred, x), mean);
}

TEST(Centred, RefusesBadMeansAndRows) {
  EXPECT_THROW(Centred(std::vector<float>(3), make("turbo-mse:4", 4)), InvalidArgument);
  EXPECT_THROW(Centred(std::vector<float>(4, std::numeric_limits<float>::infinity()), make("turbo-mse:4", 4)),
               InvalidArgument);
  const Centred centred(std::vector<float>(4), make("turbo-mse:4", 4));
  EXPECT_THROW(encode_one(centred, std::vector<float>(4, std::numeric_limits<float>::quiet_NaN())), InvalidArgument);
}

}  // namespace
}  // namespace orthant::quantizer

#include "validation/inner_product_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/core/rng.h"
#include "orthant/validation/subject.h"

namespace orthant::validation {
namespace {

// A uniform direction orthogonal to x and any orthonormal basis of that space have the same mean square, the trace over
// d - 1. The basis: columns of the reflection that takes e_0 to x. Estimates come through the method's own estimate().
TEST(MeanSquareAcross, IsTheMeanOverABasis) {
  for (const std::size_t d : {8U, 48U, 128U}) {
    for (const char* method : {"turbo-prod:1,norm=f32,sketch=gaussian", "turbo-prod:3,norm=f32,sketch=gaussian"}) {
      SCOPED_TRACE(testing::Message() << method << ", d = " << d);
      const auto quantizer = shipped_subjects()(method, d, 5, 6);
      RngStream rng(7, claim_domain(method), d);
      Matrix<float> x(1, d);
      rng.fill_unit_vector(x.row(0));
      CodedRows coded(*quantizer, x.view());
      std::vector<double> v(x.row(0).begin(), x.row(0).end());
      v[0] -= 1;
      double square = 0;
      for (const double c : v) square += c * c;
      double mean = 0;
      std::vector<float> y(d);
      for (std::size_t j = 1; j < d; ++j) {
        for (std::size_t i = 0; i < d; ++i) y[i] = static_cast<float>((i == j ? 1.0 : 0.0) - 2 * v[i] * v[j] / square);
        const double error = coded.error(y);
        mean += error * error / static_cast<double>(d - 1);
      }
      const double across = mean_square_across(x.row(0), coded.decoded().row(0));
      // Two float paths to the same products, each off by d eps |x_hat| at most, eps = 2^-24; |x_hat|^2 <= 1 + 2 d
      // mean.
      const double n = static_cast<double>(d);
      EXPECT_NEAR(across, mean, 4 * n * 0x1p-24 * std::sqrt(mean * (1 + 2 * n * mean)));
    }
  }
}

// The same by drawing queries: 40,000 of them, 4 standard errors. At d = 8 a coordinate of S^7 in place of S^6 is 40 %
// off.
TEST(ProbabilityBeyond, IsTheFrequencyOverQueries) {
  constexpr int kDraws = 40000;
  for (const std::size_t d : {8U, 48U}) {
    for (const char* method : {"rabitq:1", "rabitq:3", "eden:2,scale=unbiased"}) {
      SCOPED_TRACE(testing::Message() << method << ", d = " << d);
      const auto quantizer = shipped_subjects()(method, d, 9, 4);
      RngStream rng(3, claim_domain(method), d);
      Matrix<float> x(1, d);
      rng.fill_unit_vector(x.row(0));
      CodedRows coded(*quantizer, x.view());
      const ErrorMoments errors = inner_product_errors(coded, x.row(0), 0, 100, rng);
      const double limit = 2 * std::sqrt(errors.square);
      int beyond = 0;
      std::vector<float> query(d);
      for (int i = 0; i < kDraws; ++i) {
        correlated_query(x.row(0), 0, rng, query);
        beyond += std::abs(coded.error(query)) > limit ? 1 : 0;
      }
      const double p = probability_beyond(coded, x.row(0), limit);
      EXPECT_GT(p, 0.005);
      EXPECT_NEAR(beyond, kDraws * p, 4 * std::sqrt(kDraws * p * (1 - p)));
      EXPECT_EQ(probability_beyond(coded, x.row(0), 10), 0);
    }
  }
}

}  // namespace
}  // namespace orthant::validation

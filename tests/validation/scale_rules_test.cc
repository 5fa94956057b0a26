#include <gtest/gtest.h>

#include <string>

#include "orthant/core/moments.h"
#include "orthant/core/rng.h"
#include "orthant/core/workspace.h"
#include "orthant/validation/subject.h"
#include "orthant/validation/test_vectors.h"

namespace orthant::validation {
namespace {

struct Rule {
  std::size_t dim;
  int bits;
  double raw;
  double matched;
  double least_squares;
};

// |x - x_hat|^2 of a unit vector by scale rule, simulated elsewhere to +- 0.1 %. Matched lengths are worse than no
// scale at one and two bits, better at four.
constexpr Rule kRules[] = {{64, 4, 0.009132, 0.008828, 0.008806},
                           {128, 1, 0.36089, 0.40100, 0.36045},
                           {128, 2, 0.11600, 0.11890, 0.11530},
                           {128, 4, 0.009315, 0.009170, 0.009148}};

/// |x - x_hat|^2 of uniform unit vectors.
Moments squared_errors(const quantizer::VectorQuantizer& quantizer, std::size_t rows) {
  Matrix<float> x(rows, quantizer.dim());
  for (std::size_t i = 0; i < rows; ++i) {
    RngStream rng(1, claim_domain("scale rules"), i);
    rng.fill_unit_vector(x.row(i));
  }
  Workspace work(quantizer.workspace_bytes(rows));
  Matrix<std::uint8_t> packed(rows, quantizer.bytes_per_vector());
  Matrix<float> x_hat(rows, quantizer.dim());
  quantizer.encode(x.view(), packed.view(), work);
  quantizer.decode(packed.view(), x_hat.view(), work);
  Moments error;
  for (std::size_t i = 0; i < rows; ++i) error.add(squared_distance(x.row(i), x_hat.row(i)));
  return error;
}

TEST(ScaleRules, DistortionsOfTheThreeScales) {
  constexpr std::size_t kRows = 10000;
  for (const Rule& rule : kRules) {
    const std::string bits = ':' + std::to_string(rule.bits);
    for (const auto& [method, expected] : {std::pair("turbo-mse" + bits + ",norm=f32", rule.raw),
                                           std::pair("eden" + bits + ",scale=matched,norm=f32", rule.matched),
                                           std::pair("eden" + bits + ",scale=mse,norm=f32", rule.least_squares)}) {
      const Moments error = squared_errors(*shipped_subjects()(method, rule.dim, 1, 0), kRows);
      // Four standard errors: a false alarm in 16,000 for each number. Beside them what the table is good for.
      EXPECT_NEAR(error.mean(), expected, 4 * error.standard_error() + 1e-3 * expected)
          << method << ", d = " << rule.dim;
    }
  }
}

}  // namespace
}  // namespace orthant::validation

// Every inner-product estimator against its exact bias and mean square (estimator_study.h) on the full grid: d = 64,
// 128, 256, 1 to 6 bits, queries orthogonal, parallel and at correlations 0.1, ..., 0.9, within 4 standard errors.
//
// 400 draws of 32 vectors; standard errors are printed, about 1 % of most mean squares. A mean leaves 4 of them with
// probability 7.6e-5 (Student, 399 degrees of freedom); with 3 * 73 * 11 * 2 = 4818 comparisons a fresh seed fails with
// probability 0.37 at most (Bonferroni; correlations share their draws, so in truth less often). The seed is fixed.
#include <gtest/gtest.h>

#include "quantizer/estimator_study.h"

namespace orthant::quantizer {
namespace {

class EstimatorGrid : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, EstimatorGrid, testing::Values(64, 128, 256));

TEST_P(EstimatorGrid, EveryEstimatorHasItsExactBiasAndMeanSquare) {
  expect_exact_values({.dim = GetParam(),
                       .correlations = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1},
                       .draws = 400,
                       .vectors = 32});
}

}  // namespace
}  // namespace orthant::quantizer

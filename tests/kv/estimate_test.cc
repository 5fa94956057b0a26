#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "orthant/core/rng.h"
#include "orthant/quantizer/make_quantizer.h"

namespace orthant::kv {
namespace {

/// Scores of a cache are the method's own estimates; evaluate_head takes <q, x_hat> for them, in matrix products. That
/// is right only where both agree, up to rounding, for every query.
class EstimateIsTheDecodedProduct : public testing::TestWithParam<const char*> {};

TEST_P(EstimateIsTheDecodedProduct, ForEveryQuery) {
  constexpr std::size_t kDim = 64;
  constexpr std::size_t kRows = 20;
  quantizer::QuantizerContext context;
  context.largest_magnitude = 6.0F;
  const auto method = quantizer::make_quantizer(quantizer::parse_method(GetParam()), kDim, context);
  Matrix<float> x(kRows, kDim);
  RngStream(11, Domain::kData, 0).fill_normal(std::span<float>(x.data(), kRows * kDim));
  for (float& value : x.row(7)) value = 0;
  for (float& value : x.row(8)) value *= 1e-3F;
  Workspace work(method->workspace_bytes(kRows));
  Matrix<std::uint8_t> packed(kRows, method->bytes_per_vector());
  Matrix<float> x_hat(kRows, kDim);
  method->encode(x.view(), packed.view(), work);
  method->decode(packed.view(), x_hat.view(), work);
  std::vector<float> estimates(kRows);
  for (std::uint64_t trial = 1; trial <= 20; ++trial) {
    std::vector<float> query(kDim);
    RngStream(11, Domain::kData, trial).fill_normal(std::span<float>(query));
    method->estimate(query, packed.view(), estimates, work);
    double query_norm = 0;
    for (const float q : query) query_norm += double{q} * double{q};
    for (std::size_t i = 0; i < kRows; ++i) {
      double product = 0;
      double norm = 0;
      for (std::size_t j = 0; j < kDim; ++j) {
        product += double{query[j]} * double{x_hat(i, j)};
        norm += double{x_hat(i, j)} * double{x_hat(i, j)};
      }
      // Either side goes through a few single-precision products of length d: each is off by at most d eps |q| |x|
      // (Higham 2002, sec. 3.1), at most four of them: a rotation, a sketch, their sums.
      EXPECT_NEAR(estimates[i], product, 4 * kDim * FLT_EPSILON * std::sqrt(query_norm * norm)) << "row " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, EstimateIsTheDecodedProduct,
                         testing::Values("turbo-mse:3", "turbo-mse:8,rotation=hadamard:2", "turbo-mse:0", "eden:3",
                                         "eden:4,scale=matched", "eden:2,scale=mse", "uniform:3,group=16",
                                         "uniform:4,sym=1", "uniform:4,rotation=haar", "fp8:e4m3,scale=head",
                                         "fp8:e5m2", "nvfp4", "mxfp4", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl",
                                         "q4_0,rotation=hadamard", "bf16", "f16", "f32"));

}  // namespace
}  // namespace orthant::kv

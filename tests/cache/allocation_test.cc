// What runs for every token takes no memory: operator new is counted, and tiles must stay where they are.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cache/coded_rows.h"
#include "orthant/cache/attention.h"
#include "orthant/cache/row_encoder.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/transform/make_rotation.h"
#include "quantizer/counting_new.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kDim = 128;
constexpr std::size_t kTokens = 1500;  // two chunks of attention, and a last tile that is not full

std::shared_ptr<const quantizer::TurboMse> turbo(const std::string& rotation, int bits) {
  return std::make_shared<const quantizer::TurboMse>(transform::make_rotation(rotation, kDim, 1),
                                                     codebook::sphere_codebook(kDim, bits));
}

TEST(HotLoops, ScoresSumsAttentionAndAppendDoNotAllocate) {
  const Matrix<float> rows = random_queries(kTokens, kDim, 1);
  const Matrix<float> queries = random_queries(8, kDim, 2);
  for (const char* rotation : {"haar", "hadamard:3", "none"}) {
    for (const int bits : {1, 2, 3, 4, 8}) {
      const RowEncoder encoder(turbo(rotation, bits));
      const CacheOptions options{.first_exact = 4, .last_exact = 64};
      KeyCache keys(encoder.format(), options);
      ValueCache values(encoder.format(), options);
      keys.reserve(kTokens);
      values.reserve(kTokens);
      Workspace encode_work(encoder.workspace_bytes());
      Workspace work(std::max(keys.workspace_bytes(8), values.workspace_bytes(8)));
      encoder.append(rows.view().middle_rows(0, 1), keys,
                     encode_work);  // the window of first rows takes its memory now
      encoder.append(rows.view().middle_rows(0, 1), values, encode_work);
      Matrix<float> scores(8, kTokens);
      Matrix<float> sums(8, kDim);
      const AttentionHead head{&keys, &values, queries.view(), sums.view()};
      Attention attention(1);

      const std::byte* const key_tiles = keys.tiles().data();
      const std::byte* const value_tiles = values.tiles().data();
      std::size_t before = quantizer::allocations();
      for (std::size_t i = 1; i < kTokens; ++i) {
        encoder.append(rows.view().middle_rows(i, 1), keys, encode_work);
        encoder.append(rows.view().middle_rows(i, 1), values, encode_work);
      }
      EXPECT_EQ(quantizer::allocations(), before) << "append, " << rotation << ", bits " << bits;
      EXPECT_EQ(keys.tiles().data(), key_tiles);
      EXPECT_EQ(values.tiles().data(), value_tiles);

      attention.run({&head, 1}, 1);  // its buffers grow with the first call
      before = quantizer::allocations();
      attention.run({&head, 1}, 1);
      keys.scores(queries.view(), 1, 0, scores.view(), work);
      values.weighted_sum(scores.view(), 0, sums.view(), work);
      EXPECT_EQ(quantizer::allocations(), before) << "scores and sums, " << rotation << ", bits " << bits;
    }
  }
}

TEST(HotLoops, Bfloat16AppendDoesNotAllocate) {
  const Matrix<float> rows = random_queries(130, kDim, 1);
  KeyCache keys(RowFormat::bfloat16(kDim));
  ValueCache values(RowFormat::bfloat16(kDim));
  keys.reserve(130);
  values.reserve(130);
  const std::size_t before = quantizer::allocations();
  for (std::size_t i = 0; i < 130; ++i) {
    keys.append(rows.view().middle_rows(i, 1));
    values.append(rows.view().middle_rows(i, 1));
  }
  EXPECT_EQ(quantizer::allocations(), before);
}

}  // namespace
}  // namespace orthant::cache

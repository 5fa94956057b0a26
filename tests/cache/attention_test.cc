#include "orthant/cache/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cache/coded_rows.h"
#include "orthant/core/error.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kDim = 64;

struct Head {
  KeyCache keys;
  ValueCache values;
  Matrix<float> k;  // decoded
  Matrix<float> v;
};

Head make_head(std::size_t n, std::uint64_t seed, Precision precision = Precision::kExact) {
  const RowFormat key_format = RowFormat::codebook(kDim, 4, curved_levels(4));
  const RowFormat value_format = RowFormat::uniform(kDim, 4, kDim);
  Head head{KeyCache(key_format, {.precision = precision}), ValueCache(value_format, {.precision = precision}),
            Matrix<float>(n, kDim), Matrix<float>(n, kDim)};
  append_rows(head.keys, random_rows(key_format, n, seed));
  const CodedRows values = random_rows(value_format, n, seed + 1);
  head.values.append(values.codes.view(), values.scales.view(), values.offsets.view());
  head.keys.decode(0, head.k.view());
  head.values.decode(0, head.v.view());
  return head;
}

/// Softmax attention in double over the decoded caches.
std::vector<double> reference(const Head& head, std::span<const float> query, double scale, KeyRange seen,
                              std::span<const float> terms = {}) {
  std::vector<double> scores;
  for (std::size_t i = seen.begin; i < seen.end; ++i) {
    double s = 0;
    for (std::size_t j = 0; j < kDim; ++j) s += double{query[j]} * double{head.k(i, j)};
    scores.push_back(scale * s + (terms.empty() ? 0 : double{terms[i]}));
  }
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - largest);
  std::vector<double> out(kDim);
  for (std::size_t i = seen.begin; i < seen.end; ++i) {
    for (std::size_t j = 0; j < kDim; ++j) out[j] += scores[i - seen.begin] / sum * double{head.v(i, j)};
  }
  return out;
}

// Exact mode: float rounding alone. Scores have size |s| <= 40 here, errors of 2^-24 * (n/4 + 16) * 40 * 8 in the worst
// case, which the exponential turns into a relative error of the weights; values have size 20: 1e-3 is generous, and a
// wrong chunk, mask or merge is off by order 1.
constexpr double kTolerance = 1e-3;

TEST(Attention, DecodeOfRaggedHeadsIsSoftmaxAttention) {
  std::vector<Head> heads;
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{63}, std::size_t{1024}, std::size_t{1025}, std::size_t{3000}}) {
    heads.push_back(make_head(n, n));
  }
  const Matrix<float> queries = random_queries(4, kDim, 3);
  std::vector<Matrix<float>> outputs(heads.size(), Matrix<float>(4, kDim));
  std::vector<AttentionHead> jobs;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    jobs.push_back({&heads[i].keys, &heads[i].values, queries.view(), outputs[i].view()});
  }
  Attention attention(2);
  attention.run(jobs, 0.125F);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    for (std::size_t h = 0; h < 4; ++h) {
      const std::vector<double> expected = reference(heads[i], queries.row(h), 0.125, {0, heads[i].keys.size()});
      for (std::size_t j = 0; j < kDim; ++j) {
        ASSERT_NEAR(double{outputs[i](h, j)}, expected[j], kTolerance) << "head " << i << " query " << h;
      }
    }
  }
}

TEST(Attention, CausalAndSlidingPrefillOfABlock) {
  constexpr std::size_t n = 2100;
  constexpr std::size_t block = 37;  // the last 37 positions
  const Head head = make_head(n, 8);
  const Matrix<float> queries = random_queries(block, kDim, 4);
  for (const std::size_t window : {n, std::size_t{50}}) {
    std::vector<KeyRange> visible;
    for (std::size_t r = 0; r < block; ++r) {
      const std::size_t end = n - block + r + 1;
      visible.push_back({end > window ? end - window : 0, end});
    }
    Matrix<float> outputs(block, kDim);
    Attention attention(1);
    const AttentionHead job{&head.keys, &head.values, queries.view(), outputs.view(), {}, visible};
    attention.run({&job, 1}, 0.125F);
    for (std::size_t r = 0; r < block; ++r) {
      const std::vector<double> expected = reference(head, queries.row(r), 0.125, visible[r]);
      for (std::size_t j = 0; j < kDim; ++j) {
        ASSERT_NEAR(double{outputs(r, j)}, expected[j], kTolerance) << "window " << window << " row " << r;
      }
    }
  }
}

TEST(Attention, TermsEnterTheScores) {
  constexpr std::size_t n = 1200;
  const Head head = make_head(n, 12);
  const Matrix<float> queries = random_queries(2, kDim, 4);
  Matrix<float> terms(2, n);
  RngStream random(3, Domain::kData, 0);
  for (std::size_t h = 0; h < 2; ++h) random.fill_normal(terms.row(h));
  Matrix<float> outputs(2, kDim);
  Attention attention(1);
  const AttentionHead job{&head.keys, &head.values, queries.view(), outputs.view(), terms.view()};
  attention.run({&job, 1}, 0.125F);
  for (std::size_t h = 0; h < 2; ++h) {
    const std::vector<double> expected = reference(head, queries.row(h), 0.125, {0, n}, terms.row(h));
    for (std::size_t j = 0; j < kDim; ++j) EXPECT_NEAR(double{outputs(h, j)}, expected[j], kTolerance);
  }
}

TEST(Attention, SameBitsForAnyNumberOfThreads) {
  const Head first = make_head(5000, 1, Precision::kFast);
  const Head second = make_head(700, 2, Precision::kFast);
  const Matrix<float> queries = random_queries(12, kDim, 3);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    Matrix<float> a(12, kDim);
    Matrix<float> b(12, kDim);
    const std::vector<AttentionHead> jobs = {{&first.keys, &first.values, queries.view(), a.view()},
                                             {&second.keys, &second.values, queries.view(), b.view()}};
    Attention attention(threads);
    attention.run(jobs, 0.125F);
    attention.run(jobs, 0.125F);  // buffers used before change nothing
    std::vector<float> all(a.data(), a.data() + 12 * kDim);
    all.insert(all.end(), b.data(), b.data() + 12 * kDim);
    results.push_back(all);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Attention, MistakesAreRefused) {
  const Head head = make_head(10, 1);
  const Matrix<float> queries = random_queries(2, kDim, 3);
  Matrix<float> outputs(2, kDim);
  Attention attention(1);
  const auto run = [&](const std::vector<KeyRange>& visible, MatrixView<float> out) {
    const AttentionHead job{&head.keys, &head.values, queries.view(), out, {}, visible};
    attention.run({&job, 1}, 1);
  };
  EXPECT_THROW(run({{0, 11}, {0, 1}}, outputs.view()), InvalidArgument);
  EXPECT_THROW(run({{3, 3}, {0, 1}}, outputs.view()), InvalidArgument);
  EXPECT_THROW(run({{0, 1}}, outputs.view()), InvalidArgument);
  EXPECT_THROW(run({}, outputs.view().middle_rows(0, 1)), InvalidArgument);
  EXPECT_THROW(Attention(-1), InvalidArgument);
  EXPECT_NO_THROW(run({{0, 10}, {9, 10}}, outputs.view()));
}

}  // namespace
}  // namespace orthant::cache

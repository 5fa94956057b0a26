#include "orthant/core/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/moments.h"

namespace orthant {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  // Random123's kat_vectors for philox4x32, 10 rounds.
  constexpr std::uint32_t kOnes = 0xFFFFFFFFU;
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_block({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RngStream, WordsAreTheBijectionOfTheDocumentedCounter) {
  RngStream rng(0x0123456789abcdef, Domain::kRotation, 0xfedcba9876543210);
  const Words second = philox_block({1, 2, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
  for (int i = 0; i < 4; ++i) rng.next_u32();
  for (const std::uint32_t word : second) EXPECT_EQ(rng.next_u32(), word);
}

TEST(RngStream, SeedDomainAndTrialAllMatter) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const Domain domain : {Domain::kData, Domain::kRotation, Domain::kSketch, Domain::kQueryRounding,
                                Domain::kClaim, claim_domain("d-mse"), claim_domain("d-prod")}) {
      for (std::uint64_t trial = 0; trial < 10; ++trial) first.insert(RngStream(seed, domain, trial).next_u64());
    }
  }
  EXPECT_EQ(first.size(), 700U);  // a collision of random 64-bit words has probability 1.4e-14
}

TEST(RngStream, SeedsOfManyRunsShareNoVector) {
  // Seeds 1..20 as users choose them: the variance of the 20 means is that of independent runs. Ratio to its
  // expectation is chi-square/19: outside [0.2, 2.7] with probability below 2e-4; the seeds are fixed.
  Moments means;
  constexpr int kDraws = 10000;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Moments run;
    for (std::uint64_t trial = 0; trial < kDraws; ++trial) run.add(RngStream(seed, Domain::kData, trial).normal());
    means.add(run.mean());
  }
  const double ratio = means.variance() * kDraws;
  EXPECT_GT(ratio, 0.2);
  EXPECT_LT(ratio, 2.7);
}

TEST(RngStream, NormalsHaveTheRightMoments) {
  // 4 standard errors: a false alarm of 6e-5 for each of the three; the seed is fixed.
  constexpr int kDraws = 200000;
  Moments z;
  Moments squares;
  Moments fourth;
  RngStream rng(1, Domain::kData, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    z.add(x);
    squares.add(x * x);
    fourth.add(x * x * x * x);
  }
  EXPECT_NEAR(z.mean(), 0, 4 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares.mean(), 1, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth.mean(), 3, 4 * std::sqrt(96.0 / kDraws));  // E Z^8 - 9 = 96
}

TEST(RngStream, UniformStaysBelowOne) {
  RngStream rng(3, Domain::kData, 0);
  Moments u;
  for (int i = 0; i < 100000; ++i) u.add(rng.uniform());
  EXPECT_GE(u.min(), 0);
  EXPECT_LT(u.max(), 1);
  EXPECT_NEAR(u.mean(), 0.5, 4 * std::sqrt(1.0 / 12 / 100000));
}

TEST(RngStream, BelowIsUnbiased) {
  RngStream rng(5, Domain::kData, 0);
  constexpr int kDraws = 60000;
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(rng.below(6));
  double chi_square = 0;
  for (const int c : counts) chi_square += (c - kDraws / 6.0) * (c - kDraws / 6.0) / (kDraws / 6.0);
  EXPECT_LT(chi_square, 27.9);  // 5 degrees of freedom: exceeded with probability 4e-5
  EXPECT_EQ(rng.below(1), 0U);
  EXPECT_THROW(rng.below(0), InvalidArgument);
}

TEST(RngStream, UnitVectorsAreUnitInEveryDimension) {
  for (const std::size_t d : {1U, 2U, 3U, 128U, 1000U}) {
    RngStream rng(1, Domain::kData, d);
    std::vector<double> x(d);
    rng.fill_unit_vector(x);
    double square = 0;
    for (const double v : x) square += v * v;
    EXPECT_NEAR(square, 1, static_cast<double>(d + 4) * 1.2e-16);  // one rounding a coordinate, Higham 2002, 3.1
  }
}

TEST(RngStream, SignsAreFair) {
  std::vector<float> signs(100000);
  RngStream(1, Domain::kRotation, 0).fill_signs(signs);
  double sum = 0;
  for (const float s : signs) {
    ASSERT_EQ(s * s, 1.0F);
    sum += static_cast<double>(s);
  }
  EXPECT_LT(std::abs(sum), 4 * std::sqrt(100000.0));
}

}  // namespace
}  // namespace orthant

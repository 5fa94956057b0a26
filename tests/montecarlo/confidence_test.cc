#include "orthant/montecarlo/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant::montecarlo {
namespace {

using Draw = std::function<double(RngStream&)>;
using Make = std::function<std::unique_ptr<ConfidenceSequence>()>;

Moments chunk_of(const Draw& draw, RngStream& rng, int n = 32) {
  Moments chunk;
  for (int i = 0; i < n; ++i) chunk.add(draw(rng));
  return chunk;
}

/// How many of `runs` runs of `chunks` chunks ever leave the true mean outside.
int misses(const Make& make, const Draw& draw, double mean, int runs, int chunks) {
  int count = 0;
  for (int run = 0; run < runs; ++run) {
    RngStream rng(11, claim_domain("coverage"), static_cast<std::uint64_t>(run));
    const auto sequence = make();
    bool missed = false;
    for (int k = 0; k < chunks && !missed; ++k) {
      sequence->add(chunk_of(draw, rng));
      const Interval in = sequence->interval();
      missed = mean < in.lower || mean > in.upper;
    }
    count += missed ? 1 : 0;
  }
  return count;
}

double uniform_square(RngStream& rng) {
  const double u = rng.uniform();
  return u * u;
}

// 1000 runs that look after every chunk, each allowed to miss with probability 0.05. More than 0.05 + 4 standard
// errors, 77 of 1000, has probability below 1e-4 when the claim is true. Looking 60 times at a plain 95 % interval
// misses about 30 % of the time: the last of these tests shows that the check can fail.
constexpr int kRuns = 1000;
constexpr int kAllowed = 77;

TEST(Coverage, BoundedMean) {
  const Make make = [] { return bounded_mean(0, 1, 0.4, 0.05, {1000, 0.3}); };
  EXPECT_LE(misses(make, uniform_square, 1.0 / 3, kRuns, 60), kAllowed);
  // A rare large value: most runs see none of it.
  const Draw rare = [](RngStream& rng) { return rng.uniform() < 1e-3 ? 1.0 : 0.0; };
  const Make guess = [] { return bounded_mean(0, 1, 0.01, 0.05, {1000, 0.05}); };
  EXPECT_LE(misses(guess, rare, 1e-3, kRuns, 60), kAllowed);
}

TEST(Coverage, Frequency) {
  const Draw event = [](RngStream& rng) { return rng.uniform() < 0.01 ? 1.0 : 0.0; };
  for (const double centre : {0.01, 0.3}) {
    EXPECT_LE(misses([&] { return frequency(centre, 0.05); }, event, 0.01, kRuns, 60), kAllowed);
  }
}

TEST(Coverage, AsymptoticMean) {
  const Draw skewed = [](RngStream& rng) { return std::pow(rng.normal(), 2); };
  const Make make = [] { return asymptotic_mean(0.05, {2000, 1}); };
  EXPECT_LE(misses(make, skewed, 1, kRuns, 100), kAllowed);
}

class PlainInterval final : public ConfidenceSequence {
 public:
  void add(const Moments& chunk) override { all_.merge(chunk); }
  Interval interval() const override {
    const double half = 1.96 * all_.standard_error();
    return {all_.mean() - half, all_.mean() + half};
  }
  std::string_view kind() const override { return "plain"; }
  std::vector<double> state() const override { return {}; }
  void restore(std::span<const double>) override {}

 private:
  Moments all_;
};

TEST(Coverage, ThePlantedFaultIsSeen) {
  const Make plain = [] { return std::make_unique<PlainInterval>(); };
  EXPECT_GT(misses(plain, uniform_square, 1.0 / 3, kRuns, 60), 2 * kAllowed);
}

TEST(Width, OfTheOrderOfTheCentralLimit) {
  RngStream rng(3, claim_domain("width"), 0);
  const auto bounded = bounded_mean(0, 1, 0.3, 1e-4, {20000, 0.3});
  const auto asymptotic = asymptotic_mean(1e-4, {20000, 0.3});
  Moments all;
  for (int k = 0; k < 625; ++k) {
    const Moments chunk = chunk_of(uniform_square, rng);
    bounded->add(chunk);
    asymptotic->add(chunk);
    all.merge(chunk);
  }
  // z of a two-sided 1e-4 test is 3.89; looking at every size costs less than a factor 1.6.
  for (const Interval in : {bounded->interval(), asymptotic->interval()}) {
    EXPECT_LT((in.upper - in.lower) / 2, 1.6 * 3.89 * all.standard_error());
    EXPECT_GT((in.upper - in.lower) / 2, 3.89 * all.standard_error());
  }
}

TEST(Frequency, Extremes) {
  const auto none = frequency(0.01, 1e-3);
  EXPECT_EQ(none->interval().lower, 0);
  EXPECT_EQ(none->interval().upper, 1);
  none->add(Moments(10000, 0, 0, 0, 0));
  EXPECT_EQ(none->interval().lower, 0);
  EXPECT_GT(none->interval().upper, std::log(1e3) / 10000);
  EXPECT_LT(none->interval().upper, 2 * std::log(1e3) / 10000);
  const auto all = frequency(0.5, 1e-3);
  all->add(Moments(100, 1, 0, 1, 1));
  EXPECT_EQ(all->interval().upper, 1);
  EXPECT_GT(all->interval().lower, 0.85);
}

TEST(BoundedMean, ConvictsWithoutAnUpperRange) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto sequence = bounded_mean(0, inf, 0.5, 1e-3, {1000, 0.3});
  RngStream rng(5, claim_domain("one side"), 0);
  for (int k = 0; k < 100; ++k) sequence->add(chunk_of([](RngStream& r) { return 2 * uniform_square(r); }, rng));
  EXPECT_GT(sequence->interval().lower, 0.6);
  EXPECT_EQ(sequence->interval().upper, inf);
}

TEST(Sequences, RestoreContinuesWithTheSameBits) {
  for (const Make& make : {Make([] {
                             return bounded_mean(0, 4, 0.5, 1e-3, {1000, 0.3});
                           }),
                           Make([] { return frequency(0.2, 1e-3); }), Make([] {
                             return asymptotic_mean(1e-3, {1000, 0.3});
                           })}) {
    const auto whole = make();
    auto part = make();
    RngStream rng(9, claim_domain("restore"), 0);
    for (int k = 0; k < 80; ++k) {
      const Moments chunk = chunk_of([](RngStream& r) { return r.uniform() < 0.2 ? 1.0 : 0.0; }, rng);
      auto next = make();
      next->restore(part->state());
      part = std::move(next);
      whole->add(chunk);
      part->add(chunk);
      EXPECT_EQ(part->interval().lower, whole->interval().lower) << whole->kind();
      EXPECT_EQ(part->interval().upper, whole->interval().upper) << whole->kind();
    }
    EXPECT_THROW(part->restore(std::vector<double>{1.0}), InvalidInput);
  }
}

TEST(Sequences, BadInputNeverConvicts) {
  const auto sequence = bounded_mean(0, 1, 0.5, 1e-3, {1000, 0.3});
  sequence->add(Moments(2000, 0.25, 45.0, 0.25, 7.0));  // above the stated range
  EXPECT_TRUE(std::isinf(sequence->interval().upper));
  EXPECT_LT(sequence->interval().lower, 0.25);
  sequence->add(Moments(2000, 0.25, 45.0, -0.25, 0.5));  // below it
  EXPECT_TRUE(std::isinf(sequence->interval().lower));
  const auto mean = asymptotic_mean(1e-3, {1000, 0.3});
  mean->add(Moments(2000, std::nan(""), std::nan(""), 0, 1));
  EXPECT_TRUE(std::isinf(mean->interval().upper));
  EXPECT_THROW(bounded_mean(0, 1, 2, 1e-3, {}), InvalidArgument);
  EXPECT_THROW(bounded_mean(0, 1, 0.5, 0, {}), InvalidArgument);
  EXPECT_THROW(frequency(0, 1e-3), InvalidArgument);
  EXPECT_THROW(asymptotic_mean(2, {}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::montecarlo

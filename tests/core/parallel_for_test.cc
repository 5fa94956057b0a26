#include "orthant/core/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/core/rng.h"

namespace orthant {
namespace {

TEST(ParallelFor, EveryIndexOnceForAnyThreads) {
  for (const int threads : {0, 1, 2, 3, 8}) {
    for (const std::size_t n : {0U, 1U, 2U, 1000U}) {
      std::vector<int> seen(n);
      parallel_for(n, threads, [&](std::size_t i) { ++seen[i]; });
      EXPECT_EQ(seen, std::vector<int>(n, 1));
    }
  }
}

TEST(ParallelFor, BlocksMergedInOrderGiveTheSameBits) {
  const auto run = [](int threads) {
    std::vector<Moments> blocks(37);
    parallel_for(blocks.size(), threads, [&](std::size_t b) {
      RngStream rng(7, Domain::kData, b);
      for (int i = 0; i < 1000; ++i) blocks[b].add(rng.normal());
    });
    Moments all;
    for (const Moments& block : blocks) all.merge(block);
    return all;
  };
  const Moments one = run(1);
  for (const int threads : {2, 3, 8}) {
    EXPECT_EQ(run(threads).mean(), one.mean());
    EXPECT_EQ(run(threads).variance(), one.variance());
  }
}

TEST(ParallelFor, TheLowestFailureIsRethrown) {
  for (const int threads : {1, 2, 8}) {
    std::atomic<int> calls{0};
    try {
      parallel_for(100, threads, [&](std::size_t i) {
        ++calls;
        if (i % 30 == 17) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "17");
    }
    EXPECT_EQ(calls, 100);
  }
  EXPECT_THROW(parallel_for(1, -1, [](std::size_t) {}), InvalidArgument);
}

TEST(ParallelFor, CallsOfSeveralThreadsAtOnce) {
  std::vector<std::size_t> sums(4);
  std::vector<std::jthread> callers;
  for (std::size_t& sum : sums) {
    callers.emplace_back([&sum] {
      std::vector<std::size_t> parts(16);
      for (int call = 0; call < 50; ++call) {
        parallel_for(parts.size(), 1 + call % 3, [&](std::size_t i) { parts[i] += i; });
      }
      for (const std::size_t part : parts) sum += part;
    });
  }
  callers.clear();
  EXPECT_EQ(sums, std::vector<std::size_t>(4, 50 * 120));
}

TEST(ParallelFor, Nests) {
  std::vector<std::size_t> sums(8);
  parallel_for(sums.size(), 2, [&](std::size_t i) {
    std::vector<std::size_t> parts(16);
    parallel_for(parts.size(), 2, [&](std::size_t j) { parts[j] = j; });
    for (const std::size_t part : parts) sums[i] += part;
  });
  EXPECT_EQ(sums, std::vector<std::size_t>(8, 120));
}

}  // namespace
}  // namespace orthant

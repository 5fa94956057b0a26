#include "kernels/code_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orthant::kernels {
namespace {

std::size_t bucket_of(float y, float slope, float shift) {
  constexpr auto kLast = static_cast<float>(CodeSearch::kBuckets - 1);
  return static_cast<std::size_t>(std::lrint(std::clamp(std::fma(y, slope, shift), 0.0F, kLast)));
}

}  // namespace

CodeSearch make_code_search(std::span<const float> thresholds, int bits) {
  CodeSearch search;
  search.bits = bits;
  search.thresholds.assign(thresholds.begin(), thresholds.end());
  search.thresholds.resize(256, std::numeric_limits<float>::infinity());
  const float first = thresholds.front();
  const float slope = static_cast<float>(CodeSearch::kBuckets - 1) / (thresholds.back() - first);
  const float shift = -first * slope;
  if (!std::isfinite(slope) || !std::isfinite(shift)) return search;
  std::vector<std::int32_t> in_bucket(CodeSearch::kBuckets);
  for (const float t : thresholds) {
    if (++in_bucket[bucket_of(t, slope, shift)] > 1) return search;
  }
  search.slope = slope;
  search.shift = shift;
  search.below.resize(CodeSearch::kBuckets);
  for (std::size_t b = 1; b < CodeSearch::kBuckets; ++b) search.below[b] = search.below[b - 1] + in_bucket[b - 1];
  return search;
}

}  // namespace orthant::kernels

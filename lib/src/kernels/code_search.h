#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orthant::kernels {

/// Thresholds between the 2^bits levels of a codebook as KernelTable::find_codes takes them: for a search by halves,
/// and for wide codes, whose thresholds do not fit registers, buckets of equal width
///   bucket(y) = round(clamp(y slope + shift, 0, kBuckets - 1)),
/// the product and sum rounded once. It never falls as y rises: thresholds of lower buckets are below y, those of
/// higher ones are not, and where no bucket has two, one comparison settles the code.
struct CodeSearch {
  static constexpr std::size_t kBuckets = 1024;
  int bits = 0;
  std::vector<float> thresholds;    ///< 256: the ascending ones, then infinity
  std::vector<std::int32_t> below;  ///< thresholds in lower buckets; empty when a bucket would have two
  float slope = 0;
  float shift = 0;
};

/// thresholds: 2^bits - 1, ascending.
CodeSearch make_code_search(std::span<const float> thresholds, int bits);

}  // namespace orthant::kernels

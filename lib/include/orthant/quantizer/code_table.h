#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/codebook/codebook.h"

namespace orthant::quantizer {

/// A codebook of at most 256 levels as it meets float coordinates.
///   centroids    c_k, the codebook's rounded to float: what a code decodes to
///   thresholds   the largest float <= (c_k + c_{k+1}) / 2 of the rounded centroids, k < N - 1
///   code(y)    = #{k : t_k < y}: for float y exactly the nearest rounded centroid, a tie going to the lower index;
///                +0 and -0 have the same code.
/// Immutable; calls may run concurrently and do not allocate.
class CodeTable {
 public:
  /// Throws InvalidArgument when the codebook has more than 8 bits or two centroids round to one float.
  explicit CodeTable(const codebook::Codebook& book);

  int bits() const { return bits_; }
  std::span<const float> centroids() const { return centroids_; }
  std::span<const float> thresholds() const { return {thresholds_.data(), centroids_.size() - 1}; }

  /// codes[j] = code(y[j]); y holds no NaN. Sizes must agree (asserted), here and below.
  void encode(std::span<const float> y, std::span<std::uint8_t> codes) const;
  /// y[j] = c_{codes[j]}.
  void decode(std::span<const std::uint8_t> codes, std::span<float> y) const;
  /// sum_j p_j c_{codes[j]}, products and sum in double.
  double dot(std::span<const float> p, std::span<const std::uint8_t> codes) const;
  /// sum_j c_{codes[j]}^2, likewise.
  double square(std::span<const std::uint8_t> codes) const;

 private:
  int bits_;
  std::vector<float> centroids_;
  std::vector<float> thresholds_;  // one more than there are: infinity, where a search ends
  // Above 4 bits the search starts in a grid of equal bins: bin_codes_[i] thresholds lie in bins before bin i.
  std::vector<std::uint8_t> bin_codes_;
  float bins_per_unit_ = 0;
};

}  // namespace orthant::quantizer

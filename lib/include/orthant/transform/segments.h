#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orthant::transform {

/// Consecutive coordinates that share a width, a rotation, a codebook (of dimension `count`) and a norm.
struct Segment {
  std::size_t first = 0;
  std::size_t count = 0;
  int bits = 0;  ///< 0: nothing is stored, the coordinates decode to 0

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Packed bytes of one vector: codes of each segment in whole bytes, norm_bytes for each segment that stores any.
std::size_t segment_bytes(std::span<const Segment> segments, std::size_t norm_bytes);

/// Score error of segments, (sum over S) D_{b_S}(n_S) (sum_{i in S} sqrt(lambda_i))^2 / n_S: matching.h's formula
/// within each segment, which is rotated by itself. importance: lambda_i in the order of the coordinates;
/// distortion[b]: relative distortion D of the codebook of b bits, distortion[0] = 1; InvalidArgument for a width
/// beyond it. One norm for each segment, not one for all: the share of a segment in the energy of a key varies from key
/// to key, and codes scaled by the average share overflow just in the keys that matter.
double segments_error(std::span<const Segment> segments, std::span<const double> importance,
                      std::span<const double> distortion);

struct SegmentLimits {
  std::size_t most = 4;        ///< segments at most; at least 1
  std::size_t bytes = 0;       ///< of a packed vector, norms included
  std::size_t norm_bytes = 2;  ///< of each segment that stores codes
};

/// The segmentation of least segments_error within the limits, by dynamic programming over cuts at multiples of
/// 8 * ceil(d / 256) coordinates: exact for those cuts, at most 32 pieces. For importance in falling order, as
/// matching_map gives it, widths never rise. Throws InvalidArgument when not even width 0 fits or importance is
/// not finite or negative.
std::vector<Segment> best_segments(std::span<const double> importance, std::span<const double> distortion,
                                   const SegmentLimits& limits);

}  // namespace orthant::transform

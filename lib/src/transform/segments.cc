#include "orthant/transform/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"

namespace orthant::transform {
namespace {

std::size_t bytes_of(std::size_t count, int bits, std::size_t norm_bytes) {
  return bits == 0 ? 0 : packed_bytes(count, bits) + norm_bytes;
}

/// Best error of the first `pieces` pieces cut into the segments so far, at each number of bytes; and how it came
/// about.
struct Cell {
  double error = std::numeric_limits<double>::infinity();
  std::size_t begin = 0;  ///< first piece of the last segment
  int bits = 0;           ///< and its width
};

}  // namespace

std::size_t segment_bytes(std::span<const Segment> segments, std::size_t norm_bytes) {
  std::size_t bytes = 0;
  for (const Segment& s : segments) bytes += bytes_of(s.count, s.bits, norm_bytes);
  return bytes;
}

double segments_error(std::span<const Segment> segments, std::span<const double> importance,
                      std::span<const double> distortion) {
  double error = 0;
  for (const Segment& s : segments) {
    if (s.bits < 0 || static_cast<std::size_t>(s.bits) >= distortion.size())
      throw_invalid_argument("segments_error", "width", std::to_string(s.bits),
                             "0 to " + std::to_string(distortion.size()) + " - 1");
    if (s.first + s.count > importance.size())
      throw_invalid_argument("segments_error", "end of a segment", std::to_string(s.first + s.count),
                             "at most " + std::to_string(importance.size()));
    double sum = 0;
    for (std::size_t i = s.first; i < s.first + s.count; ++i) sum += std::sqrt(importance[i]);
    if (s.count > 0) error += distortion[static_cast<std::size_t>(s.bits)] * sum * sum / static_cast<double>(s.count);
  }
  return error;
}

std::vector<Segment> best_segments(std::span<const double> importance, std::span<const double> distortion,
                                   const SegmentLimits& limits) {
  const std::size_t d = importance.size();
  if (d == 0) return {};
  if (limits.most == 0) throw_invalid_argument("best_segments", "segments", "0", "at least 1");
  if (distortion.empty()) throw_invalid_argument("best_segments", "distortions", "none", "one for each width from 0");
  for (const double lambda : importance)
    if (!(lambda >= 0) || !std::isfinite(lambda))
      throw_invalid_argument("best_segments", "importance", std::to_string(lambda), "finite and not negative");

  const std::size_t piece = 8 * ((d + 255) / 256);
  const std::size_t pieces = (d + piece - 1) / piece;
  std::vector<double> roots(pieces + 1);  // prefix sums of sqrt(lambda) at the cuts
  for (std::size_t i = 0; i < d; ++i) roots[i / piece + 1] += std::sqrt(importance[i]);
  for (std::size_t i = 0; i < pieces; ++i) roots[i + 1] += roots[i];

  const std::size_t most = std::min(limits.most, pieces);
  const std::size_t widths = std::min<std::size_t>(distortion.size(), 9);
  const std::size_t most_bytes =
      std::min(limits.bytes, bytes_of(d, static_cast<int>(widths) - 1, limits.norm_bytes) + most * limits.norm_bytes);
  const std::size_t columns = most_bytes + 1;
  std::vector<std::vector<Cell>> stages(most + 1, std::vector<Cell>((pieces + 1) * columns));
  stages[0][0].error = 0;
  for (std::size_t s = 1; s <= most; ++s)
    for (std::size_t begin = s - 1; begin < pieces; ++begin)
      for (std::size_t end = begin + 1; end <= pieces; ++end) {
        const std::size_t count = std::min(end * piece, d) - begin * piece;
        const double sum = roots[end] - roots[begin];
        for (std::size_t b = 0; b < widths; ++b) {
          const std::size_t bytes = bytes_of(count, static_cast<int>(b), limits.norm_bytes);
          const double error = distortion[b] * sum * sum / static_cast<double>(count);
          for (std::size_t used = 0; used + bytes < columns; ++used) {
            const double total = stages[s - 1][begin * columns + used].error + error;
            Cell& cell = stages[s][end * columns + used + bytes];
            if (total < cell.error) cell = {total, begin, static_cast<int>(b)};
          }
        }
      }

  std::size_t segments = 0;
  std::size_t used = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 1; s <= most; ++s)
    for (std::size_t u = 0; u < columns; ++u)
      if (stages[s][pieces * columns + u].error < least) {
        least = stages[s][pieces * columns + u].error;
        segments = s;
        used = u;
      }
  std::vector<Segment> result(segments);
  std::size_t end = pieces;
  for (std::size_t s = segments; s > 0; --s) {
    const Cell& cell = stages[s][end * columns + used];
    const std::size_t first = cell.begin * piece;
    const std::size_t count = std::min(end * piece, d) - first;
    result[s - 1] = {first, count, cell.bits};
    used -= bytes_of(count, cell.bits, limits.norm_bytes);
    end = cell.begin;
  }
  return result;
}

}  // namespace orthant::transform

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/kv/calibration.h"
#include "orthant/transform/key_frame.h"
#include "orthant/transform/matching.h"

namespace orthant::kv {

/// How keys are matched: the options match, centre, align and segments of a method string.
struct MatchedKeyOptions {
  transform::Match match = transform::Match::kNone;
  transform::Centre centre = transform::Centre::kNone;
  transform::Alignment alignment;
  std::size_t segments = 1;

  friend bool operator==(const MatchedKeyOptions&, const MatchedKeyOptions&) = default;
};

/// Where a layer's keys and queries meet: tokens of the cache, and the distances at which a query sees keys (tokens,
/// or the sliding window if that is less).
struct KeyContext {
  std::uint64_t tokens = 1;
  std::uint64_t distances = 1;
};

/// The map fitted to one KV head.
struct MatchedHead {
  transform::KeyFrame frame;
  transform::FrameMoments moments;  ///< in that frame, as measured
  transform::MatchingMap map;       ///< fitted to the moments after shrinking
  double key_energy = 0;            ///< E |k|^2, the mean included: what a plain coder's error is proportional to
};
/// Throws InvalidInput when the calibration has no such head.
MatchedHead match_head(const Calibration& calibration, const CalibratedLayer& layer, std::size_t head,
                       const MatchedKeyOptions& options, const KeyContext& context);

/// Score errors E (q . k - q . k_hat)^2 that second moments predict (transform/score_error.h) for a rotation quantizer
/// at a given number of bits per coordinate.
struct ErrorForecast {
  double plain = 0;      ///< keys coded as cached
  double matched = 0;    ///< by the head's map, in one segment
  double segmented = 0;  ///< the same in the best segments of as many bytes (16-bit norms)
};
/// segments: at most; distortion: of 0 to 8 bits, as from sphere_distortions.
ErrorForecast forecast(const MatchedHead& head, int bits, std::size_t segments, std::span<const double> distortion);

/// The Gaussian rate-distortion benchmark (transform/score_error.h) of the frame's moments, in the same units.
double gaussian_forecast(const transform::FrameMoments& moments, int bits);

/// Relative distortions of the sphere's optimal codebooks of 0 to 8 bits in dimension d.
std::vector<double> sphere_distortions(std::size_t dim);

}  // namespace orthant::kv

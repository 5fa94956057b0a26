#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "orthant/kv/dump.h"
#include "orthant/transform/key_frame.h"
#include "orthant/transform/rope.h"
#include "orthant/transform/second_moments.h"

namespace orthant::kv {

/// Moments of one KV head before the rotary embedding: keys kappa, and the queries of every head that reads them, each
/// turned back by its own position.
struct HeadMoments {
  transform::SecondMoments keys;
  transform::SecondMoments queries;
};

struct CalibratedLayer {
  int index = 0;          ///< the layer's number in the model
  double rope_theta = 0;  ///< 0 without a rotary embedding
  std::vector<HeadMoments> heads;
};

/// What matched keys need to know of a model (transform/matching.h): second moments for each layer and KV head. They
/// hold for every alignment, width and context length; maps are fitted from them when a method asks.
struct Calibration {
  std::string model;
  transform::RopeLayout rope_layout = transform::RopeLayout::kNone;
  std::size_t head_dim = 0;
  double shrinkage = 0.02;           ///< share of the mean variance that every direction is given (shrunk)
  std::size_t skipped = 16;          ///< first tokens of each dump that are left out: the sink and its like
  std::vector<std::string> sources;  ///< what it was learnt from: name and digest of each dump
  std::vector<CalibratedLayer> layers;

  /// The layer of the model's number `index`; InvalidInput naming the calibration's layers when it is not there.
  const CalibratedLayer& layer(int index) const;
  transform::Rope rope(const CalibratedLayer& layer) const;
};

/// Fewer have no covariance.
inline constexpr std::size_t kLeastCalibratedTokens = 2;

struct CalibrationOptions {
  std::size_t skipped = 16;            ///< first tokens of a dump that are left out of the moments
  std::size_t most_tokens = SIZE_MAX;  ///< tokens of each dump whose keys are used, skipped ones included
  double query_share = 1;              ///< of each dump's queries, the earliest, rounded up
  double shrinkage = 0.02;
  int threads = 0;
};

/// Whether keys and queries of this layer are left once the first tokens are skipped.
bool leaves_something(const Dump& dump, const DumpLayer& layer, const CalibrationOptions& options);

/// Streams the dumps head by head; several of them add up, layer by layer, in the given order: same bytes for any
/// number of threads. sources: one text for each dump, for the record. Throws InvalidArgument when dumps disagree in
/// model shape (rope layout, head dimension, KV heads or rope_theta of a layer) or options are out of range;
/// InvalidInput when a dump has fewer than kLeastCalibratedTokens tokens or no query left after `skipped`, or a bad
/// value.
Calibration calibrate(std::span<const Dump> dumps, std::vector<std::string> sources, const CalibrationOptions& options);

/// A safetensors file ("orthant-calibration-1"): for each layer i and X in keys, queries
///   layers.<i>.X.mean [kv_heads, d], layers.<i>.X.covariance [kv_heads, d, d] in F32 (X.covariance about X.mean);
/// metadata: format, model, rope_layout, head_dim, shrinkage, skipped, sources (separated by newlines) and, in the
/// order of `layers`: rope_theta, key_tokens, query_rows. Read back, maps differ by the rounding of F32 alone.
void write_calibration(const std::filesystem::path& path, const Calibration& calibration);
/// Throws InvalidInput, naming file and field, for anything that disagrees.
Calibration read_calibration(const std::filesystem::path& path);

}  // namespace orthant::kv

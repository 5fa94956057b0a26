#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"
#include "orthant/quantizer/block_codec.h"
#include "orthant/quantizer/float_format.h"
#include "orthant/quantizer/flush_schedule.h"
#include "orthant/transform/key_frame.h"

namespace orthant::quantizer {

/// The bytes of one stream, by what they are for.
struct StreamBytes {
  std::size_t payload = 0;   ///< codes
  std::size_t metadata = 0;  ///< scales, minima, norms, outliers, row pointers
  std::size_t exact = 0;     ///< tokens kept as floats: sinks and the recent window
  std::size_t shared = 0;    ///< once for the stream: levels, thresholds, a bias, a map

  std::size_t total() const { return payload + metadata + exact + shared; }
  StreamBytes& operator+=(const StreamBytes& other) {
    payload += other.payload;
    metadata += other.metadata;
    exact += other.exact;
    shared += other.shared;
    return *this;
  }
  friend bool operator==(const StreamBytes&, const StreamBytes&) = default;
};

/// How the keys or the values of one head are kept as tokens arrive: a codec for blocks of tokens, a schedule that
/// says when they are coded, a float format for those that are exact, and, for keys, a frame in which they are coded
/// (turned back before the rotary embedding, a bias taken off). Immutable; serves any number of streams and threads.
class StreamingQuantizer {
 public:
  /// frame: where keys are coded; the token i of a stream has position first_position + i. shared_bytes: parameters of
  /// the stream beside the codec's (a bias in the frame, a map learnt from these tokens).
  /// Throws InvalidArgument unless the schedule's step is a positive multiple of the codec's block and the frame has
  /// the codec's dimension.
  StreamingQuantizer(std::string description, std::unique_ptr<BlockCodec> codec, FlushSchedule schedule,
                     FloatType exact, std::optional<transform::KeyFrame> frame = {}, std::size_t first_position = 0,
                     std::size_t shared_bytes = 0);

  std::size_t dim() const { return codec_->dim(); }
  /// The method string that made it.
  const std::string& describe() const { return description_; }
  const BlockCodec& codec() const { return *codec_; }
  const FlushSchedule& schedule() const { return schedule_; }
  /// What one append, settle or decode takes from its workspace.
  std::size_t workspace_bytes() const;

  /// x as an exact token is read back: rounded to the exact format. In place allowed.
  void round_exact(MatrixView<const float> x, MatrixView<float> out) const;

 private:
  friend class TokenStream;
  bool codes_at_once() const;

  std::string description_;
  std::unique_ptr<BlockCodec> codec_;
  FlushSchedule schedule_;
  FloatType exact_;
  std::optional<transform::KeyFrame> frame_;
  std::size_t first_position_;
  std::size_t shared_bytes_;
};

/// The keys or values of one head. After any sequence of calls the bytes depend only on the tokens appended, however
/// they were cut into calls. Not synchronised.
class TokenStream {
 public:
  /// Memory for `capacity` tokens is taken at once: until then append and settle do not allocate (where blocks vary in
  /// size, as long as they are not larger than usual). The quantizer must outlive the stream.
  TokenStream(const StreamingQuantizer& quantizer, std::size_t capacity);

  std::size_t tokens() const { return tokens_; }
  /// Tokens sinks, ..., sinks + coded_tokens() - 1 are coded, all others exact.
  std::size_t coded_tokens() const { return coded_tokens_; }

  /// Adds the rows of x (n, d). Afterwards the stream is what the query of the last row reads: with a schedule that
  /// flushes after the read, call settle() when it has been done (the next append does so by itself).
  /// Refused before anything changes (InvalidArgument): values that are not finite or beyond the exact format. Values
  /// that only the codec cannot hold (UniformGrid) are refused when their block is due; the stream then keeps them
  /// exact and refuses again.
  void append(MatrixView<const float> x, Workspace& work);
  void settle(Workspace& work);

  /// x_hat: (n, d), tokens first, ..., first + n - 1 as they are read now.
  void decode(std::size_t first, MatrixView<float> x_hat, Workspace& work) const;

  StreamBytes bytes() const;
  /// Everything the stream holds, in canonical order: coded blocks, row pointers (32 bits each, where blocks vary),
  /// sinks, recent tokens. Its size is bytes().total() - bytes().shared.
  std::vector<std::uint8_t> packed() const;

 private:
  void append_row(std::span<const float> x, Workspace& work);
  void flush(std::size_t coded, Workspace& work);
  void encode_block(Workspace& work);
  std::span<const std::uint8_t> block(std::size_t index) const;
  std::span<std::uint8_t> exact_row(std::size_t token);
  std::span<const std::uint8_t> exact_row(std::size_t token) const;

  const StreamingQuantizer* quantizer_;
  FloatFormat exact_;
  std::size_t tokens_ = 0;
  std::size_t coded_tokens_ = 0;
  std::vector<std::uint8_t> coded_;
  std::size_t coded_metadata_ = 0;
  std::vector<std::uint32_t> ends_;  // where each block ends in coded_, unless they are all of one size
  std::vector<std::uint8_t> sinks_;
  std::vector<std::uint8_t> recent_;  // a ring: token i after the sinks in row i % ring rows
};

}  // namespace orthant::quantizer

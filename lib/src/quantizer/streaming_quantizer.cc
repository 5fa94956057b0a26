#include "orthant/quantizer/streaming_quantizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/little_endian.h"

namespace orthant::quantizer {

StreamingQuantizer::StreamingQuantizer(std::string description, std::unique_ptr<BlockCodec> codec,
                                       FlushSchedule schedule, FloatType exact,
                                       std::optional<transform::KeyFrame> frame, std::size_t first_position,
                                       std::size_t shared_bytes)
    : description_(std::move(description)),
      codec_(std::move(codec)),
      schedule_(schedule),
      exact_(exact),
      frame_(std::move(frame)),
      first_position_(first_position),
      shared_bytes_(shared_bytes) {
  const std::size_t block = codec_->tokens_per_block();
  for (const std::size_t tokens : {schedule_.step, schedule_.first}) {
    if (schedule_.step == 0 || tokens % block != 0) {
      throw_invalid_argument("method \"" + description_ + '"', "tokens coded at a time", std::to_string(tokens),
                             "a multiple of the group, " + std::to_string(block));
    }
  }
  if (frame_) require_size("method \"" + description_ + '"', "dimension of the frame", frame_->rope().dim(), dim());
}

bool StreamingQuantizer::codes_at_once() const { return schedule_.before_read && schedule_.most_recent() == 1; }

std::size_t StreamingQuantizer::workspace_bytes() const {
  return Workspace::bytes_for<float>(codec_->tokens_per_block() * dim()) +
         Workspace::bytes_for<std::uint8_t>(codec_->max_block_bytes()) + codec_->workspace_bytes() +
         Workspace::bytes_for<float>(dim());
}

void StreamingQuantizer::round_exact(MatrixView<const float> x, MatrixView<float> out) const {
  const FloatFormat format(exact_, dim());
  std::vector<std::uint8_t> row(format.bytes_per_vector());
  Workspace work(format.workspace_bytes(1));
  for (std::size_t i = 0; i < x.rows(); ++i) {
    format.encode(x.middle_rows(i, 1), {row.data(), 1, row.size()}, work);
    format.decode({row.data(), 1, row.size()}, out.middle_rows(i, 1), work);
  }
}

TokenStream::TokenStream(const StreamingQuantizer& quantizer, std::size_t capacity)
    : quantizer_(&quantizer),
      // A token that is coded as it arrives passes through the ring without being rounded.
      exact_(quantizer.codes_at_once() ? FloatType::kF32 : quantizer.exact_, quantizer.dim()) {
  const FlushSchedule& schedule = quantizer.schedule();
  const BlockCodec& codec = quantizer.codec();
  const std::size_t blocks = capacity / codec.tokens_per_block();
  coded_.reserve(blocks * codec.max_block_bytes());
  if (!codec.fixed_size()) ends_.reserve(blocks);
  const FloatFormat sink_format(quantizer.exact_, quantizer.dim());
  sinks_.reserve(schedule.sinks * sink_format.bytes_per_vector());
  recent_.resize(schedule.most_recent() * exact_.bytes_per_vector());
}

std::span<std::uint8_t> TokenStream::exact_row(std::size_t token) {
  const FlushSchedule& schedule = quantizer_->schedule();
  const std::size_t bytes = exact_.bytes_per_vector();
  const std::size_t slot = (token - schedule.sinks) % schedule.most_recent();
  return std::span(recent_).subspan(slot * bytes, bytes);
}

std::span<const std::uint8_t> TokenStream::exact_row(std::size_t token) const {
  return const_cast<TokenStream*>(this)->exact_row(token);  // NOLINT: reads only
}

std::span<const std::uint8_t> TokenStream::block(std::size_t index) const {
  if (ends_.empty()) {
    const std::size_t bytes = quantizer_->codec().max_block_bytes();
    return std::span(coded_).subspan(index * bytes, bytes);
  }
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::span(coded_).subspan(begin, ends_[index] - begin);
}

void TokenStream::append(MatrixView<const float> x, Workspace& work) {
  const StreamingQuantizer& q = *quantizer_;
  require_size("append", "columns of x", x.cols(), q.dim());
  const FloatFormat sink_format(q.exact_, q.dim());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    (tokens_ + i < q.schedule_.sinks ? sink_format : exact_).check(x.row(i), i);
  }
  for (std::size_t i = 0; i < x.rows(); ++i) append_row(x.row(i), work);
}

void TokenStream::append_row(std::span<const float> x, Workspace& work) {
  const StreamingQuantizer& q = *quantizer_;
  flush(q.schedule_.coded(tokens_), work);
  if (tokens_ < q.schedule_.sinks) {
    const FloatFormat sink_format(q.exact_, q.dim());
    const std::size_t bytes = sink_format.bytes_per_vector();
    sinks_.resize(sinks_.size() + bytes);
    sink_format.encode({x.data(), 1, x.size()}, {sinks_.data() + sinks_.size() - bytes, 1, bytes}, work);
  } else {
    const std::span<std::uint8_t> row = exact_row(tokens_);
    exact_.encode({x.data(), 1, x.size()}, {row.data(), 1, row.size()}, work);
  }
  ++tokens_;
  if (q.schedule_.before_read) flush(q.schedule_.coded(tokens_), work);
}

void TokenStream::settle(Workspace& work) { flush(quantizer_->schedule().coded(tokens_), work); }

void TokenStream::flush(std::size_t coded, Workspace& work) {
  while (coded_tokens_ < coded) encode_block(work);
}

void TokenStream::encode_block(Workspace& work) {
  const StreamingQuantizer& q = *quantizer_;
  const std::size_t rows = q.codec_->tokens_per_block();
  const std::size_t first = q.schedule_.sinks + coded_tokens_;
  const Workspace::Scope scope(work);
  const MatrixView<float> x(work.take<float>(rows * q.dim()).data(), rows, q.dim());
  const std::span<std::uint8_t> out = work.take<std::uint8_t>(q.codec_->max_block_bytes());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const std::uint8_t> row = exact_row(first + i);
    exact_.decode({row.data(), 1, row.size()}, x.middle_rows(i, 1), work);
  }
  if (q.frame_) q.frame_->enter(x, q.first_position_ + first, x);
  const std::size_t bytes = q.codec_->encode(x, out, work);
  if (!q.codec_->fixed_size()) {
    if (coded_.size() + bytes > std::numeric_limits<std::uint32_t>::max()) {
      throw_invalid_argument("append", "bytes of a stream", "more than 2^32", "what 32-bit row pointers reach");
    }
    ends_.push_back(static_cast<std::uint32_t>(coded_.size() + bytes));
  }
  coded_.insert(coded_.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes));
  coded_metadata_ += q.codec_->metadata_bytes(bytes);
  coded_tokens_ += rows;
}

void TokenStream::decode(std::size_t first, MatrixView<float> x_hat, Workspace& work) const {
  const StreamingQuantizer& q = *quantizer_;
  require_size("decode", "columns of x_hat", x_hat.cols(), q.dim());
  if (first > tokens_ || x_hat.rows() > tokens_ - first) {
    throw_invalid_argument("decode", "tokens", std::to_string(first) + " to " + std::to_string(first + x_hat.rows()),
                           "within the " + std::to_string(tokens_) + " of the stream");
  }
  const std::size_t sinks = q.schedule_.sinks;
  const std::size_t rows = q.codec_->tokens_per_block();
  const FloatFormat sink_format(q.exact_, q.dim());
  const Workspace::Scope scope(work);
  const MatrixView<float> block_rows(work.take<float>(rows * q.dim()).data(), rows, q.dim());
  std::size_t held = std::numeric_limits<std::size_t>::max();  // the block that block_rows shows
  for (std::size_t i = 0; i < x_hat.rows(); ++i) {
    const std::size_t token = first + i;
    if (token < sinks) {
      const std::size_t bytes = sink_format.bytes_per_vector();
      sink_format.decode({sinks_.data() + token * bytes, 1, bytes}, x_hat.middle_rows(i, 1), work);
    } else if (token >= sinks + coded_tokens_) {
      const std::span<const std::uint8_t> row = exact_row(token);
      exact_.decode({row.data(), 1, row.size()}, x_hat.middle_rows(i, 1), work);
    } else {
      const std::size_t index = (token - sinks) / rows;
      if (index != held) {
        q.codec_->decode(block(index), block_rows, work);
        if (q.frame_) q.frame_->leave(block_rows, q.first_position_ + sinks + index * rows, block_rows);
        held = index;
      }
      std::ranges::copy(block_rows.row((token - sinks) % rows), x_hat.row(i).begin());
    }
  }
}

StreamBytes TokenStream::bytes() const {
  const StreamingQuantizer& q = *quantizer_;
  const std::size_t sinks = std::min(tokens_, q.schedule_.sinks);
  const std::size_t recent = tokens_ - sinks - coded_tokens_;
  StreamBytes bytes;
  bytes.payload = coded_.size() - coded_metadata_;
  bytes.metadata = coded_metadata_ + ends_.size() * sizeof(std::uint32_t);
  bytes.exact = sinks_.size() + recent * exact_.bytes_per_vector();
  bytes.shared = q.codec_->shared_bytes() + q.shared_bytes_;
  return bytes;
}

std::vector<std::uint8_t> TokenStream::packed() const {
  std::vector<std::uint8_t> all = coded_;
  for (const std::uint32_t end : ends_) {
    all.resize(all.size() + sizeof end);
    store_u32(all.data() + all.size() - sizeof end, end);
  }
  all.insert(all.end(), sinks_.begin(), sinks_.end());
  for (std::size_t t = std::min(tokens_, quantizer_->schedule().sinks) + coded_tokens_; t < tokens_; ++t) {
    const std::span<const std::uint8_t> row = exact_row(t);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

}  // namespace orthant::quantizer

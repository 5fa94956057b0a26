#include "orthant/quantizer/split_channels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

/// Rows gathered together; bounds the workspace.
constexpr std::size_t kBlockRows = 64;

void gather(MatrixView<const float> x, std::span<const std::size_t> channels, MatrixView<float> part) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < channels.size(); ++j) part(i, j) = x(i, channels[j]);
  }
}

void scatter(MatrixView<const float> part, std::span<const std::size_t> channels, MatrixView<float> x) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < channels.size(); ++j) x(i, channels[j]) = part(i, j);
  }
}

}  // namespace

SplitChannels::SplitChannels(std::vector<std::size_t> channels, std::shared_ptr<const VectorQuantizer> outliers,
                             std::shared_ptr<const VectorQuantizer> rest, std::string name)
    : name_(std::move(name)), channels_(std::move(channels)), outliers_(std::move(outliers)), rest_(std::move(rest)) {
  require_size("SplitChannels", "number of channels", channels_.size(), outliers_->dim());
  std::ranges::sort(channels_);
  const std::size_t dim = outliers_->dim() + rest_->dim();
  if (std::ranges::adjacent_find(channels_) != channels_.end() || channels_.back() >= dim) {
    throw_invalid_argument("SplitChannels", "channels", "a repeated one or " + std::to_string(channels_.back()),
                           "different channels below " + std::to_string(dim));
  }
  for (std::size_t j = 0; j < dim; ++j) {
    if (!std::ranges::binary_search(channels_, j)) others_.push_back(j);
  }
}

std::size_t SplitChannels::bytes_per_vector() const {
  return outliers_->bytes_per_vector() + rest_->bytes_per_vector();
}

std::size_t SplitChannels::metadata_bytes() const { return outliers_->metadata_bytes() + rest_->metadata_bytes(); }

std::size_t SplitChannels::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::clamp<std::size_t>(rows, 1, kBlockRows);
  return Workspace::bytes_for<float>(block * channels_.size()) + Workspace::bytes_for<float>(block * others_.size()) +
         Workspace::bytes_for<float>(block) +
         std::max(outliers_->workspace_bytes(block), rest_->workspace_bytes(block));
}

SplitChannels::Parts SplitChannels::take_parts(std::size_t rows, Workspace& work) const {
  return {{work.take<float>(rows * channels_.size()).data(), rows, channels_.size()},
          {work.take<float>(rows * others_.size()).data(), rows, others_.size()}};
}

void SplitChannels::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
  const std::size_t split = outliers_->bytes_per_vector();
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, x.rows() - first);
    const Workspace::Scope scope(work);
    const Parts parts = take_parts(count, work);
    gather(x.middle_rows(first, count), channels_, parts.outliers);
    gather(x.middle_rows(first, count), others_, parts.rest);
    const MatrixView<std::uint8_t> out = packed.middle_rows(first, count);
    outliers_->encode(parts.outliers, out.middle_cols(0, split), work);
    rest_->encode(parts.rest, out.middle_cols(split, rest_->bytes_per_vector()), work);
  }
}

void SplitChannels::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  check_decode_shapes(*this, packed, x_hat);
  const std::size_t split = outliers_->bytes_per_vector();
  for (std::size_t first = 0; first < packed.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, packed.rows() - first);
    const Workspace::Scope scope(work);
    const Parts parts = take_parts(count, work);
    const MatrixView<const std::uint8_t> in = packed.middle_rows(first, count);
    outliers_->decode(in.middle_cols(0, split), parts.outliers, work);
    rest_->decode(in.middle_cols(split, rest_->bytes_per_vector()), parts.rest, work);
    scatter(parts.outliers, channels_, x_hat.middle_rows(first, count));
    scatter(parts.rest, others_, x_hat.middle_rows(first, count));
  }
}

void SplitChannels::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed,
                             std::span<float> estimates, Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const std::size_t split = outliers_->bytes_per_vector();
  const Workspace::Scope scope(work);
  const Parts parts = take_parts(1, work);
  gather({query.data(), 1, query.size()}, channels_, parts.outliers);
  gather({query.data(), 1, query.size()}, others_, parts.rest);
  const std::span<float> second = work.take<float>(std::min(kBlockRows, packed.rows()));
  for (std::size_t first = 0; first < packed.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, packed.rows() - first);
    const MatrixView<const std::uint8_t> in = packed.middle_rows(first, count);
    const std::span<float> out = estimates.subspan(first, count);
    outliers_->estimate(parts.outliers.row(0), in.middle_cols(0, split), out, work);
    rest_->estimate(parts.rest.row(0), in.middle_cols(split, rest_->bytes_per_vector()), second.first(count), work);
    for (std::size_t i = 0; i < count; ++i) out[i] += second[i];
  }
}

std::vector<std::size_t> loudest_channels(MatrixView<const float> x, std::size_t count) {
  if (count > x.cols()) {
    throw_invalid_argument("loudest_channels", "count", std::to_string(count), "at most " + std::to_string(x.cols()));
  }
  std::vector<double> energy(x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.cols(); ++j) energy[j] += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
  }
  std::vector<std::size_t> order(x.cols());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t j) { return std::pair(-energy[j], j); });
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

}  // namespace orthant::quantizer

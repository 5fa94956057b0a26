#include "orthant/quantizer/concatenated.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

Concatenated::Concatenated(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& part : parts_) {
    if (part.dim == 0) throw_invalid_argument("Concatenated", "dimension of a part", "0", "1 or more");
    dim_ += part.dim;
    if (!part.quantizer) continue;
    require_size("Concatenated", "dimension of a part's quantizer", part.quantizer->dim(), part.dim);
    bytes_ += part.quantizer->bytes_per_vector();
  }
  if (dim_ == 0) throw_invalid_argument("Concatenated", "parts", "none", "1 or more");
}

std::size_t Concatenated::metadata_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_)
    if (part.quantizer) bytes += part.quantizer->metadata_bytes();
  return bytes;
}

std::string Concatenated::describe() const {
  std::string text;
  for (const Part& part : parts_)
    text += (text.empty() ? "" : "+") + std::to_string(part.dim) + "*" +
            (part.quantizer ? part.quantizer->describe() : "0");
  return text;
}

std::size_t Concatenated::workspace_bytes(std::size_t rows) const {
  std::size_t most = 0;
  for (const Part& part : parts_)
    if (part.quantizer) most = std::max(most, part.quantizer->workspace_bytes(rows));
  return most + Workspace::bytes_for<float>(rows);
}

void Concatenated::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
  std::size_t first = 0;
  std::size_t byte = 0;
  for (const Part& part : parts_) {
    if (part.quantizer) {
      const std::size_t bytes = part.quantizer->bytes_per_vector();
      part.quantizer->encode(x.middle_cols(first, part.dim), packed.middle_cols(byte, bytes), work);
      byte += bytes;
    }
    first += part.dim;
  }
}

void Concatenated::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  check_decode_shapes(*this, packed, x_hat);
  std::size_t first = 0;
  std::size_t byte = 0;
  for (const Part& part : parts_) {
    const MatrixView<float> columns = x_hat.middle_cols(first, part.dim);
    first += part.dim;
    if (!part.quantizer) {
      for (std::size_t i = 0; i < columns.rows(); ++i) std::ranges::fill(columns.row(i), 0.0F);
      continue;
    }
    const std::size_t bytes = part.quantizer->bytes_per_vector();
    part.quantizer->decode(packed.middle_cols(byte, bytes), columns, work);
    byte += bytes;
  }
}

void Concatenated::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed,
                            std::span<float> estimates, Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> of_part = work.take<float>(packed.rows());
  std::ranges::fill(estimates, 0.0F);
  std::size_t first = 0;
  std::size_t byte = 0;
  for (const Part& part : parts_) {
    if (part.quantizer) {
      const std::size_t bytes = part.quantizer->bytes_per_vector();
      part.quantizer->estimate(query.subspan(first, part.dim), packed.middle_cols(byte, bytes), of_part, work);
      for (std::size_t i = 0; i < estimates.size(); ++i) estimates[i] += of_part[i];
      byte += bytes;
    }
    first += part.dim;
  }
}

}  // namespace orthant::quantizer

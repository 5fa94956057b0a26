#include "orthant/quantizer/row_codec.h"

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

RowCodec::RowCodec(std::size_t dim, std::size_t bytes) : dim_(dim), bytes_(bytes) {
  if (dim == 0) throw_invalid_argument("quantizer", "dimension", "0", "1 or more");
}

std::size_t RowCodec::workspace_bytes(std::size_t /*rows*/) const {
  return Workspace::bytes_for<float>(dim_) + row_workspace_bytes();
}

void RowCodec::check_row(std::span<const float> x, std::size_t row) const { check_finite(x, row); }

void RowCodec::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_row(x.row(i), i);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const Workspace::Scope scope(work);
    encode_row(x.row(i), packed.row(i), work);
  }
}

void RowCodec::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  check_decode_shapes(*this, packed, x_hat);
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Workspace::Scope scope(work);
    decode_row(packed.row(i), x_hat.row(i), work);
  }
}

void RowCodec::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                        Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> x_hat = work.take<float>(dim_);
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Workspace::Scope row_scope(work);
    decode_row(packed.row(i), x_hat, work);
    double sum = 0;
    for (std::size_t j = 0; j < dim_; ++j) sum += static_cast<double>(query[j]) * static_cast<double>(x_hat[j]);
    estimates[i] = static_cast<float>(sum);
  }
}

}  // namespace orthant::quantizer

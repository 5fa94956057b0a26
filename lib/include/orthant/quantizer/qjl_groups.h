#pragma once

#include <memory>

#include "orthant/quantizer/block_codec.h"
#include "orthant/quantizer/scale.h"
#include "orthant/quantizer/sketch.h"

namespace orthant::quantizer {

/// QJL of keys with outlier channels, as its released code has it (Zandieh et al. 2024, section 4; their
/// QJLKeyQuantizer). In each group of G tokens the channels of largest sum_t k_tc^2 are the outliers, the lower first
/// among equals; with k = k_in + k_out, both in R^d, the other's channels zero,
///   z_in = sign(S k_in), m rows;   z_out = sign(S' k_out), S' the first m' rows of S;   |k_in| and |k_out| are stored
///   k_hat = |k_in| f P_in S^T z_in + |k_out| f' P_out S'^T z_out,   f, f' the factors of S and S' (Sketch)
/// P_in and P_out keep their own channels: <q, k_hat> is the released score, where each part of the query meets its own
/// part of the key. Unbiased as either part is. Where the code stores |k| and |k_out| and subtracts squares, which
/// cancels when outliers carry most of a key, |k_in| is stored here, in as many bytes; sign(0) is +1, there -1.
/// Packed group: outlier channels, ascending, a byte each (two from d = 257 on); then for each token |k_in|, |k_out|,
/// ceil(m / 8) and ceil(m' / 8) bytes of signs. A key whose length does not fit the format is refused; the length of a
/// part rounds to the nearest number, small ones to zero.
class QjlGroups final : public BlockCodec {
 public:
  /// sketch and outlier_sketch of one dimension, above `outliers`, which is at least 1, as is `group`
  /// (InvalidArgument).
  QjlGroups(std::shared_ptr<const Sketch> sketch, std::shared_ptr<const Sketch> outlier_sketch, std::size_t outliers,
            std::size_t group, ScaleFormat format);

  std::size_t dim() const override { return sketch_->dim(); }
  std::size_t tokens_per_block() const override { return group_; }
  std::size_t max_block_bytes() const override;
  std::size_t metadata_bytes(std::size_t) const override;
  std::size_t workspace_bytes() const override;
  std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const override;
  void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const override;

 private:
  /// One of the two parts of a token: where its bytes lie and what decodes them.
  struct Part {
    const Sketch& sketch;
    std::size_t length_at;
    std::size_t signs_at;
    std::size_t sign_bytes;
  };
  Part inliers() const;
  Part outliers() const;
  std::size_t token_bytes() const;
  std::size_t index_bytes() const { return dim() <= 256 ? 1 : 2; }
  void mark_outliers(MatrixView<const float> x, std::span<std::uint8_t> marks, Workspace& work) const;

  std::shared_ptr<const Sketch> sketch_;
  std::shared_ptr<const Sketch> outlier_sketch_;
  std::size_t outliers_;
  std::size_t group_;
  ScaleFormat format_;
};

}  // namespace orthant::quantizer

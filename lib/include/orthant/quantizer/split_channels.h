#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Two quantizers side by side: the chosen channels to one, all others to the other (TurboQuant section 4.3: 32
/// channels at 3 bits, 96 at 2; QJL's outlier channels). Each part has a norm, a rotation and a codebook of its own
/// dimension: levels made for 128 coordinates lose four to seven times the error on 32.
///   packed    outliers' bytes, then the rest's; estimates add
/// 32 at 3 bits and 96 at 2 are 2.25 bits, and 2.5 with the two 16-bit norms; published as 2.5.
class SplitChannels final : public VectorQuantizer {
 public:
  /// channels: outliers->dim() different channels below dim = outliers->dim() + rest->dim(), in any order; they are
  /// kept sorted. InvalidArgument otherwise. The channels belong to the cache, not to a vector: no bytes are counted
  /// for them.
  SplitChannels(std::vector<std::size_t> channels, std::shared_ptr<const VectorQuantizer> outliers,
                std::shared_ptr<const VectorQuantizer> rest, std::string name);

  std::size_t dim() const override { return channels_.size() + others_.size(); }
  std::size_t bytes_per_vector() const override;
  std::size_t metadata_bytes() const override;
  /// The name it was given: "split:3+2,channels=32", say; which channels comes from data.
  std::string describe() const override { return name_; }
  std::size_t workspace_bytes(std::size_t rows) const override;
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const override;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

  std::span<const std::size_t> channels() const { return channels_; }

 private:
  struct Parts {
    MatrixView<float> outliers;
    MatrixView<float> rest;
  };
  Parts take_parts(std::size_t rows, Workspace& work) const;

  std::string name_;
  std::vector<std::size_t> channels_;
  std::vector<std::size_t> others_;
  std::shared_ptr<const VectorQuantizer> outliers_;
  std::shared_ptr<const VectorQuantizer> rest_;
};

/// The `count` channels of largest energy sum_i x_ij^2, the lower channel first among equals; sorted. Throws
/// InvalidArgument when there are fewer channels.
std::vector<std::size_t> loudest_channels(MatrixView<const float> x, std::size_t count);

}  // namespace orthant::quantizer

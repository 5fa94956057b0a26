#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "orthant/quantizer/wrapped_quantizer.h"

namespace orthant::quantizer {

/// Any quantizer behind a mean:  encode(x - mean),  x_hat = decode + mean,  estimate + <q, mean>.
/// Bytes are those of the inner quantizer: the mean belongs to the head, not to the vector.
/// A row within rounding of the mean, |x - mean| <= 2^-20 |x|, is coded as the mean itself: keys that are constant up
/// to rounding decode to their constant. This replaces the contract's "zero vector exactly".
class Centred final : public WrappedQuantizer {
 public:
  /// mean: (d). Throws InvalidArgument unless the dimensions agree and the mean is finite.
  Centred(std::vector<float> mean, std::unique_ptr<VectorQuantizer> inner);

  /// "<inner>,centre=mean".
  std::string describe() const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 protected:
  void enter(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void leave(MatrixView<float> x_hat, Workspace& work) const override;
  std::size_t change_bytes(std::size_t) const override { return 0; }

 private:
  std::vector<float> mean_;
};

}  // namespace orthant::quantizer

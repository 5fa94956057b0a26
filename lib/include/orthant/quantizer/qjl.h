#pragma once

#include <memory>
#include <string>

#include "orthant/quantizer/rotated_quantizer.h"
#include "orthant/quantizer/sketch.h"

namespace orthant::quantizer {

/// Quantized Johnson-Lindenstrauss transform (QJL, Zandieh et al. 2024, Definition 3.1), any number m of rows.
///   encode     n = |k|,  z = sign(S k)                      decode     n factor S^T z
///   estimate   n factor <S q, z>,  unbiased                 packed     n in 2 or 4 bytes, then ceil(m / 8) bytes
/// Gaussian S:  Var = (pi/2 - rho^2)/m |q|^2 |k|^2; for q orthogonal to k the error is N(0, pi/(2m)) |q|^2 |k|^2, so
/// P(|error| > eps) = 2 Q(eps sqrt(2m/pi)). The published Lemma 3.5 lost the pi/2 and is violated there.
/// Outlier channels with a sketch of their own: QjlGroups, as the released code has it.
class Qjl final : public RotatedQuantizer {
 public:
  /// rotation: applied before the sketch, usually the identity. Throws InvalidArgument unless the dimensions agree.
  Qjl(std::shared_ptr<const transform::Transform> rotation, std::shared_ptr<const Sketch> sketch,
      ScaleFormat format = ScaleFormat::kHalf);

  /// "qjl:M", with the options that are not the grammar's defaults.
  std::string describe() const override;
  const Sketch& sketch() const { return *sketch_; }

 protected:
  void encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                        Workspace& work) const override;
  float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const override;
  void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                     Workspace& work) const override;
  std::size_t scratch_bytes() const override;

 private:
  std::shared_ptr<const Sketch> sketch_;
};

}  // namespace orthant::quantizer

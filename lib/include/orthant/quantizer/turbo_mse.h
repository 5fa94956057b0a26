#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "orthant/codebook/codebook.h"
#include "orthant/quantizer/code_table.h"
#include "orthant/quantizer/rotated_quantizer.h"
#include "orthant/quantizer/scale.h"
#include "orthant/transform/transform.h"

namespace orthant::quantizer {

struct TurboMseOptions {
  ScaleRule rule = ScaleRule::kRaw;
  ScaleFormat format = ScaleFormat::kHalf;
};

/// Norm and rotated codes: TurboQuant (Zandieh et al. 2025, Algorithm 1) with the scale rules of DRIVE and EDEN.
///   encode     n = |x|,  y = A x / n,  k_j = argmin_k |y_j - c_k|,  s = n S          (S: ScaleRule)
///   decode     x_hat = s A^-1 (c_{k_0}, ..., c_{k_{d-1}})
///   estimate   s sum_j p_j c_{k_j},  p = A^-T q
///   packed     s in 2 or 4 bytes, then ceil(d bits / 8) bytes of codes: 18, 34, 50, 66, 130 bytes for 1, 2, 3, 4, 8
///              bits at d = 128 with a 16-bit s
/// With a Haar rotation, the codebook of the sphere S^{d-1} and kRaw:  E|x - x_hat|^2 = |x|^2 d D  for every x, D being
/// codebook().distortion(): exact at every d, by exchangeability; no independence is used. A map A that is not
/// orthogonal codes y = A x / |A x| with n = |A x|.
///
/// A scale that leaves its format's range only by the factor S is refused when rows before it have been coded; every
/// other refusal comes first, see RotatedQuantizer.
class TurboMse final : public RotatedQuantizer {
 public:
  /// 0 to 8 bits. Throws InvalidArgument unless book.dim() is rotation->dim(): a codebook belongs to the dimension of
  /// the vector that was normalised.
  TurboMse(std::shared_ptr<const transform::Transform> rotation, codebook::Codebook book, TurboMseOptions options = {});

  /// "turbo-mse:B" for kRaw and "eden:B" otherwise, with the options that are not the grammar's defaults.
  std::string describe() const override;

  /// encode before packing, for callers with a layout of their own; the workspace is that of encode.
  /// x: (n, d) -> codes: (n, d), one code a byte; scales: (n), as they read back from a packed row.
  void encode_codes(MatrixView<const float> x, MatrixView<std::uint8_t> codes, std::span<float> scales,
                    Workspace& work) const;

  int bits() const { return table_.bits(); }
  const codebook::Codebook& book() const { return book_; }
  const CodeTable& table() const { return table_; }
  const TurboMseOptions& options() const { return options_; }

 protected:
  void encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                        Workspace& work) const override;
  float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const override;
  void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                     Workspace& work) const override;
  std::size_t scratch_bytes() const override;

 private:
  /// Codes of y and the scale to store.
  float code_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> codes) const;
  void unpack(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const;

  codebook::Codebook book_;
  CodeTable table_;
  TurboMseOptions options_;
};

}  // namespace orthant::quantizer

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "orthant/codebook/codebook.h"
#include "orthant/quantizer/code_table.h"
#include "orthant/quantizer/rotated_quantizer.h"
#include "orthant/quantizer/sketch.h"

namespace orthant::quantizer {

enum class ResidualNorm : std::uint8_t {
  kStored,    ///< gamma = |r| beside every vector, in the format of the norm: the paper
  kConstant,  ///< gamma = sqrt(d C(f_d, b - 1)) for all vectors: the released code
};

struct TurboProdOptions {
  ResidualNorm residual = ResidualNorm::kStored;
  ScaleFormat format = ScaleFormat::kHalf;
};

/// Nearest centroids of b - 1 bits and a one-bit sketch of what they leave (TurboQuant, Zandieh et al. 2025, Algorithm
/// 2).
///   encode     y = A x / n,  c the centroids of y,  r = y - c,  gamma = |r|,  z = sign(S r)
///   estimate   n (<p, c> + gamma factor <S p, z>),  p = A^-T q,  factor as in Sketch
///   decode     n A^-1 (c + gamma factor S^T z)
///   packed     n; gamma unless constant or b = 1; ceil(d (b-1) / 8) bytes of codes; ceil(d / 8) bytes of signs
/// The residual is sketched in the rotated basis; for a Gaussian or Haar S that changes no law, since S and S A are
/// alike and independent of A. b = 1: no centroids, r = y and gamma = 1, which is not stored.
/// A stored gamma and a Haar or Gaussian sketch make the estimate unbiased for every x and q. With |x| = |q| = 1 and
/// Gaussian S:  d Var = (pi/2) D - (D - E<r,x>^2)/(d-1) for q orthogonal to x, (pi/2) D - E<r,x>^2 for q = x, D = d
/// C(f_d, b-1). gamma rounds to the nearest number of its format, in units of n: an absolute error below 2^-12, and
/// zero stays zero.
class TurboProd final : public RotatedQuantizer {
 public:
  /// book: of b - 1 bits, 0 to 7. Throws InvalidArgument unless book, rotation and sketch have one dimension and the
  /// sketch as many rows.
  TurboProd(std::shared_ptr<const transform::Transform> rotation, codebook::Codebook book,
            std::shared_ptr<const Sketch> sketch, TurboProdOptions options = {});

  /// Total bits b.
  int bits() const { return table_.bits() + 1; }
  /// "turbo-prod:B", with the options that are not the grammar's defaults.
  std::string describe() const override;
  const codebook::Codebook& book() const { return book_; }
  const Sketch& sketch() const { return *sketch_; }

 protected:
  void encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                        Workspace& work) const override;
  float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const override;
  void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                     Workspace& work) const override;
  std::size_t scratch_bytes() const override;

 private:
  struct Parts {
    std::span<const std::uint8_t> codes;
    std::span<const std::uint8_t> signs;
    double gamma;
  };
  bool stores_gamma() const { return options_.residual == ResidualNorm::kStored && table_.bits() > 0; }
  /// What the bytes hold; a gamma that is not stored is filled in.
  Parts parts(std::span<const std::uint8_t> packed) const;
  void unpack(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const;

  codebook::Codebook book_;
  CodeTable table_;
  std::shared_ptr<const Sketch> sketch_;
  TurboProdOptions options_;
  double constant_gamma_;
};

}  // namespace orthant::quantizer

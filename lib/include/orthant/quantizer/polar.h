#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orthant/codebook/codebook.h"
#include "orthant/quantizer/rotated_quantizer.h"

namespace orthant::quantizer {

/// PolarQuant (Han et al. 2025): recursive polar coordinates of the rotated vector, four levels deep.
///   level 1     pairs of coordinates -> (radius, angle in [0, 2 pi)),  b bits, 2^b equal sectors
///   level 2..4  pairs of radii -> (radius, angle in [0, pi/2]),  max(1, b - 2) bits, optimal for the level's angle
///               density ~ sin(2 theta)^(2^(l-1) - 1), independent of all the rest
///   packed      d/16 radii of 2 or 4 bytes, then each level's angles, from the first to the fourth
/// b = 4 is the published setting: 16 coordinates cost 16 + 32 + 8 + 4 + 2 = 62 bits, 3.875 a coordinate.
/// Radii carry the vector's length; |x_hat| = |x| but for their rounding to the nearest number of the format.
/// Over Haar rotations, with kappa_l = E cos(angle - decoded angle):  E|x - x_hat|^2 = 2 (1 - prod_l kappa_l) |x|^2.
class Polar final : public RotatedQuantizer {
 public:
  static constexpr int kLevels = 4;

  /// bits: 1 to 8, at level 1. Throws InvalidArgument unless the dimension is a multiple of 16.
  Polar(std::shared_ptr<const transform::Transform> rotation, int bits, ScaleFormat format = ScaleFormat::kHalf);

  /// Bits of an angle at level 1 to 4.
  int level_bits(int level) const;
  /// "polar:B", with the options that are not the grammar's defaults.
  std::string describe() const override;

 protected:
  void encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                        Workspace& work) const override;
  float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const override;
  void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                     Workspace& work) const override;
  std::size_t scratch_bytes() const override;

 private:
  struct Direction {
    float cosine;
    float sine;
  };
  /// Fills y_hat with the directions times radius / largest radius, and returns the largest.
  float decode_row(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const;

  int bits_;
  std::vector<codebook::Codebook> books_;           // of levels 2 to 4, for angle - pi/4
  std::vector<std::vector<Direction>> directions_;  // of each code of levels 1 to 4
};

}  // namespace orthant::quantizer

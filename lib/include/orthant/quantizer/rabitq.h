#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orthant/core/rng.h"
#include "orthant/quantizer/rotated_quantizer.h"

namespace orthant::quantizer {

enum class GridSearch : std::uint8_t {
  kExact,  ///< the grid point of largest cosine, over the whole grid; ties aside the true optimum
  kFast,   ///< one rescale for all vectors: that of least mean error over 100 random directions
};

struct RabitqOptions {
  GridSearch search = GridSearch::kExact;
  ScaleFormat format = ScaleFormat::kHalf;
  /// Keeps what error bars and the first stage need, at 2 bits and more two further numbers; 1 bit has it all anyway.
  bool bounds = false;
  /// kUnbiased: RaBitQ's estimator. kMse: the scale of least error, biased by cos^2 theta. No other, and no bounds with
  /// kMse.
  ScaleRule rule = ScaleRule::kUnbiased;
};

/// A query rounded to few bits, for integer scans of many codes (RaBitQ, Gao & Long 2024, section 3.3.1):
///   p_j ~ low + step level_j,   level_j = floor((p_j - low) / step + u_j),  u_j uniform on [0, 1): unbiased.
/// A constant p has step 0 and levels 0.
struct QuantizedQuery {
  int bits = 0;
  double low = 0;
  double step = 0;
  std::uint64_t level_sum = 0;
  std::vector<std::uint8_t> levels;  ///< (d)
  std::vector<std::uint8_t> planes;  ///< (bits, ceil(d / 8)): bit i of every level, lowest coordinate first
};

/// RaBitQ: signs (Gao & Long 2024) and its extension to 2 to 8 bits (Gao et al. 2025). With y = A x / n, n = |x|:
///   grid       v_j = (2 u_j + 1 - 2^B) / ((2^B - 1) sqrt d),  u_j in {0, ..., 2^B - 1}
///   encode     u maximises <v, y> / |v| = cos theta;   g = <v, y>
///   estimate   s <v, p>,  p = A^-T q              decode   s A^-1 v
///   kUnbiased  s = n / g: unbiased over Haar rotations; d Var = E[tan^2 theta] d / (d - 1) for q orthogonal to x
///   kMse       s = n g / |v|^2: |x - x_hat|^2 = n^2 sin^2 theta
///   packed     n, g; with bounds and B > 1: w = |v| sin theta, a = <sign y, y> / sqrt d; ceil(d / 8) bytes of highest
///   bits
///              of u; ceil(d (B-1) / 8) bytes of the other bits. The highest bits are the 1-bit code: a first stage
///              reads them alone.
/// Error bar: the estimate is off by more than  epsilon (n tan theta |q|) / sqrt(d - 1)  with probability at most
///   1 - P(|X| <= epsilon / sqrt(d-1)),  X a coordinate of S^{d-2}: for epsilon = 1.9 that is 5.7 %, not nearly
///   nothing.
/// d = 1 and vectors on the grid are exact but for the rounding of g: their bars are 0.
/// g, w and a are at most 1 and rounded to the format's nearest number. y_j = 0 counts as positive.
class Rabitq final : public RotatedQuantizer {
 public:
  /// 1 to 8 bits. Throws InvalidArgument for other widths and for options that exclude each other.
  Rabitq(std::shared_ptr<const transform::Transform> rotation, int bits, RabitqOptions options = {});

  int bits() const { return bits_; }
  const RabitqOptions& options() const { return options_; }
  /// "rabitq:B", with the options that are not the grammar's defaults.
  std::string describe() const override;

  /// estimate, and the half width of its error bar. InvalidArgument at 2 bits and more unless options().bounds.
  /// For an inner product larger is better: a candidate may be dropped when estimate + half_width < the best so far.
  void estimate_with_bars(std::span<const float> query, MatrixView<const std::uint8_t> packed, double epsilon,
                          std::span<float> estimates, std::span<float> half_widths, Workspace& work) const;
  /// The same from the highest bits alone: the 1-bit estimate of the same vectors.
  void first_stage(std::span<const float> query, MatrixView<const std::uint8_t> packed, double epsilon,
                   std::span<float> estimates, std::span<float> half_widths, Workspace& work) const;

  /// bits: 1 to 8, the paper's default is 4. Allocates.
  QuantizedQuery quantize_query(std::span<const float> query, int bits, RngStream rng, Workspace& work) const;
  /// estimate by integers: population counts of the bit planes for the highest bits, a byte dot product for the rest.
  /// Equals estimate for the rounded query, but for the last rounding to float.
  void estimate(const QuantizedQuery& query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const;
  using RotatedQuantizer::estimate;

 protected:
  void encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                        Workspace& work) const override;
  float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const override;
  void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                     Workspace& work) const override;
  std::size_t scratch_bytes() const override;

 private:
  struct Factors {
    double length = 0;    // n
    double dot = 0;       // g
    double sine = 0;      // w
    double sign_dot = 0;  // a
  };
  std::size_t numbers() const { return options_.bounds && bits_ > 1 ? 4 : 2; }
  Factors factors(std::span<const std::uint8_t> packed) const;
  std::span<const std::uint8_t> high_bits(std::span<const std::uint8_t> packed) const;
  std::span<const std::uint8_t> low_bits(std::span<const std::uint8_t> packed) const;
  /// s / n, from g and, for kMse, from |v|. `codes` is scratch: (d).
  double relative_scale(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const;
  /// sum_j (2 u_j + 1 - 2^B) p_j.
  double grid_dot(std::span<const float> p, std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const;
  void require_bars(const char* where) const;

  int bits_;
  RabitqOptions options_;
  float rescale_;     // tau of kFast, and where kExact begins
  double grid_step_;  // 1 / ((2^B - 1) sqrt d)
};

}  // namespace orthant::quantizer

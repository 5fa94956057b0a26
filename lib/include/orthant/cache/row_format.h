#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace orthant::cache {

/// How one cached row of d coordinates is coded: consecutive sections, each with its own width and levels, and one or
/// more half-precision scales.
///   value_j = scale[s] * levels[code_j] (+ offset[s]),   s = section(j).scale
/// One section with one scale is a codebook row (turbo-mse, eden, fp8); several sections that share a scale are a
/// segmented one; one scale for each section is a group-wise one (uniform, q8_0). A bfloat16 row has no scale at all.
/// Immutable value type; safe to share between threads.
class RowFormat {
 public:
  /// Width of a section that holds bfloat16 values instead of codes.
  static constexpr int kBfloat16Bits = 16;
  /// Dot products are summed in 32-bit integers: 255 * 128 * 2 * kMaxDim < 2^31.
  static constexpr std::size_t kMaxDim = 32768;

  struct Section {
    std::size_t first = 0;  ///< its first coordinate
    std::size_t dims = 0;
    int bits = 0;               ///< 0 to 8, or kBfloat16Bits; 0: every coordinate is levels[0], nothing is stored
    std::vector<float> levels;  ///< 2^bits finite values, in any order; empty for bfloat16
    std::size_t scale = 0;      ///< index of the scale (and offset) that applies
  };

  /// One segment of a segmented row.
  struct Segment {
    std::size_t dims = 0;
    int bits = 0;
    std::vector<float> levels;
  };

  /// One codebook and one scale for all coordinates.
  static RowFormat codebook(std::size_t dim, int bits, std::vector<float> levels);
  /// Segments in coordinate order under one common scale.
  static RowFormat segmented(std::vector<Segment> segments);
  /// levels[k] = k, a scale and an offset (the zero-point in value units) for every `group` coordinates; the last
  /// group may be shorter.
  static RowFormat uniform(std::size_t dim, int bits, std::size_t group);
  /// Signed bytes, code k standing for k - 128, one scale for every 32 coordinates and no offset.
  static RowFormat q8_0(std::size_t dim);
  /// Codes are float8 bit patterns, the two NaN patterns excepted: E4M3 (no infinities, largest value 448).
  static RowFormat fp8_e4m3(std::size_t dim);
  /// The plain baseline.
  static RowFormat bfloat16(std::size_t dim);

  std::size_t dim() const { return dim_; }
  std::span<const Section> sections() const { return sections_; }
  /// Scales of one row; 0 for bfloat16.
  std::size_t scales() const { return scales_; }
  /// True when every scale has an offset beside it.
  bool has_offsets() const { return has_offsets_; }
  bool is_bfloat16() const;

  /// Throws InvalidArgument unless sections, levels and scales fit together as documented above (the factories call
  /// it; so does a reader of files).
  RowFormat(std::vector<Section> sections, std::size_t scales, bool has_offsets);

 private:
  std::vector<Section> sections_;
  std::size_t dim_ = 0;
  std::size_t scales_ = 0;
  bool has_offsets_ = false;
};

}  // namespace orthant::cache

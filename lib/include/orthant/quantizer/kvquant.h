#pragma once

#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/quantizer/block_codec.h"

namespace orthant::quantizer {

/// KVQuant (Hooper et al. 2024): outliers exact, the rest normalised to [-1, 1] and coded by uneven levels.
struct KvquantOptions {
  int bits = 3;                    ///< 1 to 8
  double outlier_fraction = 0.01;  ///< both tails together, 0 to 0.5
  bool q_norm = false;             ///< levels moved so that coding keeps mean and deviation of the calibration
  bool normal_float = false;       ///< levels of NormalFloat (2 to 4 bits and more) instead of fitted ones
};

/// Per channel, from calibration tokens:  lower, upper = quantiles f/2 and 1 - f/2 (linear interpolation);
///   zero = (upper + lower) / 2,  half = (upper - lower) / 2,  u = (x - zero) / half for the inliers, lower <= x <=
///   upper.
/// Levels: the optimum for the u of the inliers of all channels (weighted_levels).
struct KvquantKeyModel {
  std::vector<float> lower;
  std::vector<float> upper;
  std::vector<float> zero;
  std::vector<float> half;
  std::vector<double> levels;
};

/// x: (n, d), n >= 1, finite: calibration tokens. weights: as x (squared gradients, in the paper) or empty.
/// Throws InvalidArgument otherwise and on options out of range.
KvquantKeyModel fit_kvquant_keys(MatrixView<const float> x, MatrixView<const float> weights,
                                 const KvquantOptions& options);
/// Levels for values: as for keys, u and outliers of each token taken from that token (KvquantValues).
std::vector<double> fit_kvquant_value_levels(MatrixView<const float> x, MatrixView<const float> weights,
                                             const KvquantOptions& options);

/// NormalFloat levels (Dettmers et al. 2023): quantiles of the normal law, zero among them, scaled to [-1, 1].
std::vector<double> normal_float_levels(int bits);

/// Levels after Q-Norm: a + s l, with s and a such that the coded points have the mean and deviation of the points.
std::vector<double> q_normed(std::span<const double> levels, std::span<const double> points);

/// True for the outliers of one token: as many of the largest and of the smallest values as the quantiles 1 - f/2 and
/// f/2 cut off, n - ceil((1 - f/2)(n - 1)) each. By rank: of equal values the first come first, so a constant token
/// has as many as any other.
void mark_outliers(std::span<const float> x, double fraction, std::span<std::uint8_t> marks, Workspace& work);

/// Keys: an outlier is x < lower or x > upper of its channel. Coded before the rotary embedding (the stream's frame).
/// Packed token: ceil(d bits / 8) bytes of codes, then for each outlier its channel and its value, 16 bits each (f16).
class KvquantKeys final : public BlockCodec {
 public:
  KvquantKeys(KvquantKeyModel model, int bits);

  std::size_t dim() const override { return model_.zero.size(); }
  std::size_t tokens_per_block() const override { return 1; }
  std::size_t max_block_bytes() const override { return code_bytes_ + 4 * dim(); }
  bool fixed_size() const override { return false; }
  std::size_t metadata_bytes(std::size_t bytes) const override { return bytes - code_bytes_; }
  std::size_t shared_bytes() const override { return 4 * (4 * dim() + model_.levels.size()); }
  std::size_t workspace_bytes() const override { return Workspace::bytes_for<std::uint8_t>(dim()); }
  std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const override;
  void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const override;

  const KvquantKeyModel& model() const { return model_; }

 private:
  KvquantKeyModel model_;
  int bits_;
  std::size_t code_bytes_;
};

/// Values: outliers by mark_outliers; zero and half of the rest, outliers replaced by the lower median, as f16.
/// Packed token: codes, zero, half, outliers as for keys.
class KvquantValues final : public BlockCodec {
 public:
  KvquantValues(std::vector<double> levels, int bits, double outlier_fraction, std::size_t dim);

  std::size_t dim() const override { return dim_; }
  std::size_t tokens_per_block() const override { return 1; }
  std::size_t max_block_bytes() const override { return code_bytes_ + 4 + 4 * dim_; }
  bool fixed_size() const override { return false; }
  std::size_t metadata_bytes(std::size_t bytes) const override { return bytes - code_bytes_; }
  std::size_t shared_bytes() const override { return 4 * levels_.size(); }
  std::size_t workspace_bytes() const override;
  std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const override;
  void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const override;

 private:
  std::vector<double> levels_;
  int bits_;
  double outlier_fraction_;
  std::size_t dim_;
  std::size_t code_bytes_;
};

}  // namespace orthant::quantizer

#include "orthant/quantizer/kvquant.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "orthant/quantizer/weighted_levels.h"
#include "quantizer/little_endian.h"
#include "quantizer/meta_float.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kOutlierBytes = 4;

void check_options(const KvquantOptions& options, MatrixView<const float> x, MatrixView<const float> weights) {
  if (options.bits < 1 || options.bits > 8) {
    throw_invalid_argument("kvquant", "bits", std::to_string(options.bits), "1 to 8");
  }
  if (!(options.outlier_fraction >= 0 && options.outlier_fraction <= 0.5)) {
    throw_invalid_argument("kvquant", "outliers", std::to_string(options.outlier_fraction), "0 to 0.5");
  }
  if (x.rows() == 0) throw_invalid_argument("kvquant", "calibration tokens", "0", "1 or more");
  if (weights.rows() != 0) {
    require_size("kvquant", "rows of the weights", weights.rows(), x.rows());
    require_size("kvquant", "columns of the weights", weights.cols(), x.cols());
  }
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
}

/// The quantile of sorted values, linear between neighbours.
double quantile(std::span<const float> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = at - static_cast<double>(below);
  return static_cast<double>(sorted[below]) * (1 - share) + static_cast<double>(sorted[above]) * share;
}

/// (x - zero) / half, and 0 in a channel or token without spread.
double normalised(float x, float zero, float half) {
  if (half == 0) return 0;
  return (static_cast<double>(x) - static_cast<double>(zero)) / static_cast<double>(half);
}

float restored(double level, float zero, float half) {
  return static_cast<float>(static_cast<double>(zero) + static_cast<double>(half) * level);
}

std::vector<double> fitted_levels(std::span<const double> points, std::span<const double> weights,
                                  const KvquantOptions& options) {
  auto levels = options.normal_float ? normal_float_levels(options.bits)
                                     : weighted_levels(points, weights, std::size_t{1} << options.bits);
  return options.q_norm ? q_normed(levels, points) : levels;
}

std::size_t store_outlier(std::uint8_t* out, std::size_t channel, float x, std::size_t row) {
  if (!(std::fabs(x) < 65520.0F)) refuse_value(row, channel, x, "an outlier within the range of f16");
  store_u16(out, static_cast<std::uint16_t>(channel));
  store_half(out + 2, x);
  return kOutlierBytes;
}

void restore_outliers(std::span<const std::uint8_t> outliers, std::span<float> x_hat) {
  for (std::size_t at = 0; at < outliers.size(); at += kOutlierBytes) {
    x_hat[load_u16(outliers.data() + at)] = load_half(outliers.data() + at + 2);
  }
}

struct Range {
  float zero;
  float half;
};

/// Zero and half of one token's inliers, outliers replaced by the lower median; rounded to f16.
Range token_range(std::span<const float> x, std::span<const std::uint8_t> marks, std::span<float> scratch) {
  std::ranges::copy(x, scratch.begin());
  const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>((x.size() - 1) / 2);
  std::nth_element(scratch.begin(), middle, scratch.end());
  float low = *middle;
  float high = *middle;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (marks[j] != 0) continue;
    low = std::min(low, x[j]);
    high = std::max(high, x[j]);
  }
  const double sum = static_cast<double>(high) + static_cast<double>(low);
  const double gap = static_cast<double>(high) - static_cast<double>(low);
  return {half_to_float(float_to_half(static_cast<float>(sum / 2))),
          half_to_float(float_to_half(static_cast<float>(gap / 2)))};
}

/// Levels are kept as floats.
void round_to_float(std::vector<double>& levels) {
  for (double& level : levels) level = static_cast<double>(static_cast<float>(level));
}

void require_16_bit_channels(std::size_t dim) {
  if (dim == 0 || dim > 65536) throw_invalid_argument("kvquant", "dimension", std::to_string(dim), "1 to 65536");
}

}  // namespace

KvquantKeyModel fit_kvquant_keys(MatrixView<const float> x, MatrixView<const float> weights,
                                 const KvquantOptions& options) {
  check_options(options, x, weights);
  KvquantKeyModel model;
  std::vector<double> points;
  std::vector<double> point_weights;
  std::vector<float> sorted(x.rows());
  for (std::size_t c = 0; c < x.cols(); ++c) {
    for (std::size_t t = 0; t < x.rows(); ++t) sorted[t] = x(t, c);
    std::ranges::sort(sorted);
    const double lower = quantile(sorted, options.outlier_fraction / 2);
    const double upper = quantile(sorted, 1 - options.outlier_fraction / 2);
    // Rounded inwards: a float lies beyond the rounded threshold exactly when it lies beyond the threshold itself.
    model.lower.push_back(meta_ceil(MetaType::kF32, lower));
    model.upper.push_back(meta_floor(MetaType::kF32, upper));
    model.zero.push_back(static_cast<float>((upper + lower) / 2));
    model.half.push_back(static_cast<float>((upper - lower) / 2));
    const auto inlier = [&](float v) { return v >= model.lower.back() && v <= model.upper.back(); };
    for (std::size_t t = 0; t < x.rows(); ++t) {
      if (!inlier(x(t, c))) continue;
      points.push_back(normalised(x(t, c), model.zero.back(), model.half.back()));
      if (weights.rows() != 0) point_weights.push_back(static_cast<double>(weights(t, c)));
    }
  }
  if (points.empty()) points.push_back(0);
  model.levels = fitted_levels(points, point_weights, options);
  return model;
}

std::vector<double> fit_kvquant_value_levels(MatrixView<const float> x, MatrixView<const float> weights,
                                             const KvquantOptions& options) {
  check_options(options, x, weights);
  std::vector<double> points;
  std::vector<double> point_weights;
  std::vector<std::uint8_t> marks(x.cols());
  std::vector<float> scratch(x.cols());
  Workspace work(Workspace::bytes_for<std::uint32_t>(x.cols()));
  for (std::size_t t = 0; t < x.rows(); ++t) {
    mark_outliers(x.row(t), options.outlier_fraction, marks, work);
    const Range range = token_range(x.row(t), marks, scratch);
    for (std::size_t j = 0; j < x.cols(); ++j) {
      if (marks[j] != 0) continue;
      points.push_back(normalised(x(t, j), range.zero, range.half));
      if (weights.rows() != 0) point_weights.push_back(static_cast<double>(weights(t, j)));
    }
  }
  if (points.empty()) points.push_back(0);
  return fitted_levels(points, point_weights, options);
}

std::vector<double> normal_float_levels(int bits) {
  if (bits < 1 || bits > 8) throw_invalid_argument("normal float", "bits", std::to_string(bits), "1 to 8");
  // Published constant: half of the outermost cell's mass is left out on each side.
  constexpr double kOffset = 0.9677083;
  const boost::math::normal law;
  const int positive = 1 << (bits - 1);
  const int negative = positive - 1;
  std::vector<double> levels = {0};
  // linspace(offset, 1/2, n + 1) without its last point.
  for (const auto& [n, sign] : {std::pair{positive, 1.0}, std::pair{negative, -1.0}}) {
    for (int i = 0; i < n; ++i) levels.push_back(sign * quantile(law, kOffset + (0.5 - kOffset) * i / n));
  }
  std::ranges::sort(levels);
  const double largest = levels.back();
  for (double& level : levels) level /= largest;
  return levels;
}

std::vector<double> q_normed(std::span<const double> levels, std::span<const double> points) {
  // Two passes: the deviations are small against the means in neither sum.
  const auto coded = [&](double x) { return levels[nearest_level(levels, x)]; };
  const auto n = static_cast<double>(points.size());
  double mean_before = 0;
  double mean_after = 0;
  for (const double x : points) {
    mean_before += x / n;
    mean_after += coded(x) / n;
  }
  double square_before = 0;
  double square_after = 0;
  for (const double x : points) {
    square_before += (x - mean_before) * (x - mean_before);
    square_after += (coded(x) - mean_after) * (coded(x) - mean_after);
  }
  const double scale = square_after == 0 ? 1 : std::sqrt(square_before / square_after);
  std::vector<double> moved(levels.begin(), levels.end());
  for (double& level : moved) level = mean_before + scale * (level - mean_after);
  return moved;
}

void mark_outliers(std::span<const float> x, double fraction, std::span<std::uint8_t> marks, Workspace& work) {
  const Workspace::Scope scope(work);
  std::ranges::fill(marks, std::uint8_t{0});
  if (fraction == 0) return;
  const std::size_t n = x.size();
  const auto each = n - static_cast<std::size_t>(std::ceil((1 - fraction / 2) * static_cast<double>(n - 1)));
  const std::span<std::uint32_t> order = work.take<std::uint32_t>(n);
  std::iota(order.begin(), order.end(), 0U);
  const auto take = [&](auto before) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(each - 1), order.end(), before);
    for (std::size_t i = 0; i < each; ++i) marks[order[i]] = 1;
  };
  take([&](std::uint32_t a, std::uint32_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
  take([&](std::uint32_t a, std::uint32_t b) { return x[a] != x[b] ? x[a] < x[b] : a < b; });
}

KvquantKeys::KvquantKeys(KvquantKeyModel model, int bits)
    : model_(std::move(model)), bits_(bits), code_bytes_(packed_bytes(model_.zero.size(), bits)) {
  round_to_float(model_.levels);
  require_16_bit_channels(dim());
  require_size("kvquant", "levels", model_.levels.size(), std::size_t{1} << bits);
}

std::size_t KvquantKeys::encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  std::size_t size = code_bytes_;
  for (std::size_t c = 0; c < dim(); ++c) {
    const float v = x(0, c);
    codes[c] = static_cast<std::uint8_t>(nearest_level(model_.levels, normalised(v, model_.zero[c], model_.half[c])));
    if (v < model_.lower[c] || v > model_.upper[c]) size += store_outlier(out.data() + size, c, v, 0);
  }
  pack_codes(codes, bits_, out.first(code_bytes_));
  return size;
}

void KvquantKeys::decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  unpack_codes(block.first(code_bytes_), bits_, codes);
  for (std::size_t c = 0; c < dim(); ++c) {
    x_hat(0, c) = restored(model_.levels[codes[c]], model_.zero[c], model_.half[c]);
  }
  restore_outliers(block.subspan(code_bytes_), x_hat.row(0));
}

KvquantValues::KvquantValues(std::vector<double> levels, int bits, double outlier_fraction, std::size_t dim)
    : levels_(std::move(levels)),
      bits_(bits),
      outlier_fraction_(outlier_fraction),
      dim_(dim),
      code_bytes_(packed_bytes(dim, bits)) {
  round_to_float(levels_);
  require_16_bit_channels(dim);
  require_size("kvquant", "levels", levels_.size(), std::size_t{1} << bits);
}

std::size_t KvquantValues::workspace_bytes() const {
  return 2 * Workspace::bytes_for<std::uint8_t>(dim_) + Workspace::bytes_for<float>(dim_) +
         Workspace::bytes_for<std::uint32_t>(dim_);
}

std::size_t KvquantValues::encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> marks = work.take<std::uint8_t>(dim_);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim_);
  const std::span<float> scratch = work.take<float>(dim_);
  mark_outliers(x.row(0), outlier_fraction_, marks, work);
  const Range range = token_range(x.row(0), marks, scratch);
  if (!std::isfinite(range.zero) || !std::isfinite(range.half)) {
    refuse_value(0, 0, x(0, 0), "a token whose centre and half range fit f16");
  }
  std::size_t size = code_bytes_;
  store_half(out.data() + size, range.zero);
  store_half(out.data() + size + 2, range.half);
  size += 4;
  for (std::size_t j = 0; j < dim_; ++j) {
    codes[j] = static_cast<std::uint8_t>(nearest_level(levels_, normalised(x(0, j), range.zero, range.half)));
    if (marks[j] != 0) size += store_outlier(out.data() + size, j, x(0, j), 0);
  }
  pack_codes(codes, bits_, out.first(code_bytes_));
  return size;
}

void KvquantValues::decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim_);
  unpack_codes(block.first(code_bytes_), bits_, codes);
  const float zero = load_half(block.data() + code_bytes_);
  const float half = load_half(block.data() + code_bytes_ + 2);
  for (std::size_t j = 0; j < dim_; ++j) x_hat(0, j) = restored(levels_[codes[j]], zero, half);
  restore_outliers(block.subspan(code_bytes_ + 4), x_hat.row(0));
}

}  // namespace orthant::quantizer

#include "orthant/quantizer/code_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

#include "orthant/core/error.h"

namespace orthant::quantizer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A float y exceeds t exactly when it exceeds the largest float that is not above t.
float round_down(double t) {
  const auto rounded = static_cast<float>(t);
  return static_cast<double>(rounded) > t ? std::nextafter(rounded, -kInfinity) : rounded;
}

/// Monotone in y, whatever the rounding: a smaller coordinate never lands in a later bin.
std::size_t bin_of(float y, float first, float bins_per_unit, std::size_t bins) {
  const float position = (y - first) * bins_per_unit;
  return static_cast<std::size_t>(std::clamp(position, 0.0F, static_cast<float>(bins - 1)));
}

/// One compare for each threshold, 16 coordinates at a time: no branch and no table.
void encode_by_counting(std::span<const float> y, std::span<const float> thresholds, std::span<std::uint8_t> codes) {
  constexpr std::size_t kLanes = 16;
  std::size_t j = 0;
  for (; j + kLanes <= y.size(); j += kLanes) {
    std::int32_t count[kLanes] = {};
    for (const float t : thresholds) {
      for (std::size_t i = 0; i < kLanes; ++i) count[i] += y[j + i] > t ? 1 : 0;
    }
    for (std::size_t i = 0; i < kLanes; ++i) codes[j + i] = static_cast<std::uint8_t>(count[i]);
  }
  for (; j < y.size(); ++j) {
    codes[j] = static_cast<std::uint8_t>(std::ranges::count_if(thresholds, [&](float t) { return y[j] > t; }));
  }
}

}  // namespace

CodeTable::CodeTable(const codebook::Codebook& book) : bits_(book.bits()) {
  if (bits_ > 8) throw_invalid_argument("CodeTable", "bits of the codebook", std::to_string(bits_), "0 to 8");
  for (const double c : book.centroids()) centroids_.push_back(static_cast<float>(c));
  for (std::size_t k = 0; k + 1 < centroids_.size(); ++k) {
    if (centroids_[k] >= centroids_[k + 1]) {
      throw_invalid_argument("CodeTable", "centroid " + std::to_string(k + 1), std::to_string(centroids_[k + 1]),
                             "more than centroid " + std::to_string(k) + " as a float");
    }
    thresholds_.push_back(
        round_down((static_cast<double>(centroids_[k]) + static_cast<double>(centroids_[k + 1])) / 2));
  }
  if (bits_ > 4) {
    const std::size_t bins = 4 * centroids_.size();
    bins_per_unit_ = static_cast<float>(bins - 1) / (thresholds_.back() - thresholds_.front());
    std::size_t below = 0;
    for (std::size_t i = 0; i < bins; ++i) {
      while (below < thresholds_.size() && bin_of(thresholds_[below], thresholds_[0], bins_per_unit_, bins) < i)
        ++below;
      bin_codes_.push_back(static_cast<std::uint8_t>(below));
    }
  }
  thresholds_.push_back(kInfinity);
}

void CodeTable::encode(std::span<const float> y, std::span<std::uint8_t> codes) const {
  assert(y.size() == codes.size());
  if (bin_codes_.empty()) {
    encode_by_counting(y, thresholds(), codes);
    return;
  }
  for (std::size_t j = 0; j < y.size(); ++j) {
    // Thresholds of earlier bins are below y, those of later bins are not: only this bin's are left to compare.
    std::uint8_t code = bin_codes_[bin_of(y[j], thresholds_[0], bins_per_unit_, bin_codes_.size())];
    while (y[j] > thresholds_[code]) ++code;
    codes[j] = code;
  }
}

void CodeTable::decode(std::span<const std::uint8_t> codes, std::span<float> y) const {
  assert(y.size() == codes.size());
  for (std::size_t j = 0; j < codes.size(); ++j) y[j] = centroids_[codes[j]];
}

double CodeTable::dot(std::span<const float> p, std::span<const std::uint8_t> codes) const {
  assert(p.size() == codes.size());
  // Four sums in a fixed order: the additions of one do not wait for those of the others.
  double sums[4] = {};
  std::size_t j = 0;
  for (; j + 4 <= p.size(); j += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      sums[i] += static_cast<double>(p[j + i]) * static_cast<double>(centroids_[codes[j + i]]);
    }
  }
  for (; j < p.size(); ++j) sums[0] += static_cast<double>(p[j]) * static_cast<double>(centroids_[codes[j]]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double CodeTable::square(std::span<const std::uint8_t> codes) const {
  double sum = 0;
  for (const std::uint8_t code : codes) {
    const double c = centroids_[code];
    sum += c * c;
  }
  return sum;
}

}  // namespace orthant::quantizer

#include "orthant/quantizer/polar.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "orthant/codebook/polar_codebook.h"
#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/describe.h"
#include "quantizer/norms.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << Polar::kLevels;

int bits_at(int bits, int level) { return level == 1 ? bits : std::max(1, bits - 2); }

std::size_t angles_at(std::size_t dim, int level) { return dim >> level; }

std::size_t checked_code_bytes(std::size_t dim, int bits) {
  if (bits < 1 || bits > 8) throw_invalid_argument("Polar", "bits", std::to_string(bits), "1 to 8");
  if (dim % kBlock != 0) throw_invalid_argument("Polar", "dimension", std::to_string(dim), "a multiple of 16");
  std::size_t bytes = 0;
  for (int level = 1; level <= Polar::kLevels; ++level)
    bytes += packed_bytes(angles_at(dim, level), bits_at(bits, level));
  return bytes;
}

}  // namespace

Polar::Polar(std::shared_ptr<const transform::Transform> rotation, int bits, ScaleFormat format)
    : RotatedQuantizer(rotation, rotation->dim() / kBlock * scale_bytes(format),
                       checked_code_bytes(rotation->dim(), bits), format),
      bits_(bits) {
  const auto direction = [](double angle) {
    return Direction{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  };
  const int sectors = 1 << bits;
  directions_.emplace_back();
  for (int k = 0; k < sectors; ++k) directions_[0].push_back(direction((k + 0.5) * 2 * std::numbers::pi / sectors));
  for (int level = 2; level <= kLevels; ++level) {
    books_.push_back(codebook::polar_angle_codebook(level, level_bits(level)));
    directions_.emplace_back();
    for (const double psi : books_.back().centroids()) {
      directions_.back().push_back(direction(psi + std::numbers::pi / 4));
    }
  }
}

int Polar::level_bits(int level) const { return bits_at(bits_, level); }

std::string Polar::describe() const { return "polar:" + std::to_string(bits_) + common_options(format(), rotation()); }

std::size_t Polar::scratch_bytes() const {
  return 2 * Workspace::bytes_for<float>(dim()) + Workspace::bytes_for<std::uint8_t>(dim() / 2);
}

void Polar::encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                             Workspace& work) const {
  const std::span<float> radii = work.take<float>(dim());
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim() / 2);
  stored_scale(format(), length, row);
  std::ranges::copy(y, radii.begin());
  std::size_t at = metadata_bytes();
  for (int level = 1; level <= kLevels; ++level) {
    const std::size_t count = angles_at(dim(), level);
    const int sectors = 1 << bits_;
    for (std::size_t j = 0; j < count; ++j) {
      const double a = radii[2 * j];
      const double b = radii[2 * j + 1];
      const double angle = std::atan2(b, a);
      if (level == 1) {
        const double turn = angle / (2 * std::numbers::pi);  // in [-1/2, 1/2]
        const int sector = static_cast<int>(std::floor((turn < 0 ? turn + 1 : turn) * sectors));
        codes[j] = static_cast<std::uint8_t>(std::min(sector, sectors - 1));
      } else {
        codes[j] =
            static_cast<std::uint8_t>(books_[static_cast<std::size_t>(level - 2)].code(angle - std::numbers::pi / 4));
      }
      radii[j] = static_cast<float>(std::sqrt(a * a + b * b));
    }
    const std::size_t bytes = packed_bytes(count, level_bits(level));
    pack_codes(codes.first(count), level_bits(level), packed.subspan(at, bytes));
    at += bytes;
  }
  for (std::size_t j = 0; j < dim() / kBlock; ++j) {
    store_scale(format(), static_cast<float>(length * static_cast<double>(radii[j])),
                packed.data() + j * scale_bytes(format()));
  }
}

float Polar::decode_row(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim() / 2);
  const std::span<float> radii = y_hat.first(dim() / kBlock);
  for (std::size_t j = 0; j < radii.size(); ++j) {
    radii[j] = load_scale(format(), packed.data() + j * scale_bytes(format()));
  }
  const float largest = *std::ranges::max_element(radii);
  for (float& radius : radii) radius = largest > 0 ? radius / largest : 0;
  std::size_t end = packed.size();
  for (int level = kLevels; level >= 1; --level) {
    const std::size_t count = angles_at(dim(), level);
    const std::size_t bytes = packed_bytes(count, level_bits(level));
    end -= bytes;
    unpack_codes(packed.subspan(end, bytes), level_bits(level), codes.first(count));
    const std::vector<Direction>& directions = directions_[static_cast<std::size_t>(level - 1)];
    for (std::size_t j = count; j-- > 0;) {  // from the back: the radii still to be split lie in front
      const float radius = y_hat[j];
      y_hat[2 * j] = radius * directions[codes[j]].cosine;
      y_hat[2 * j + 1] = radius * directions[codes[j]].sine;
    }
  }
  return largest;
}

float Polar::decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  return decode_row(packed, y_hat, work);
}

void Polar::estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                          Workspace& work) const {
  const std::span<float> y_hat = work.take<float>(dim());
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Workspace::Scope scope(work);
    const double largest = decode_row(packed.row(i), y_hat, work);
    estimates[i] = static_cast<float>(largest * dot(p, y_hat));
  }
}

}  // namespace orthant::quantizer

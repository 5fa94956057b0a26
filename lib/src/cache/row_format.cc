#include "orthant/cache/row_format.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::cache {
namespace {

constexpr const char* kWhere = "RowFormat";

void require_section(const RowFormat::Section& section, std::size_t expected_first, std::size_t scales) {
  if (section.dims == 0) throw_invalid_argument(kWhere, "coordinates of a section", "0", "at least 1");
  require_size(kWhere, "first coordinate of a section", section.first, expected_first);
  if (section.bits == RowFormat::kBfloat16Bits) {
    require_size(kWhere, "levels of a bfloat16 section", section.levels.size(), 0);
    require_size(kWhere, "scales of a bfloat16 row", scales, 0);
    return;
  }
  if (section.bits < 0 || section.bits > 8) {
    throw_invalid_argument(kWhere, "bits of a section", std::to_string(section.bits), "0 to 8, or 16 for bfloat16");
  }
  require_size(kWhere, "levels of a section", section.levels.size(), std::size_t{1} << section.bits);
  for (const float level : section.levels) {
    if (!std::isfinite(level)) throw_invalid_argument(kWhere, "level", std::to_string(level), "a finite value");
  }
  if (section.scale >= scales) {
    throw_invalid_argument(kWhere, "scale index of a section", std::to_string(section.scale),
                           "less than the number of scales, " + std::to_string(scales));
  }
}

/// E4M3: sign, 4 exponent bits of bias 7, 3 fraction bits; 0x7F and 0xFF are NaN and stand for 0 here.
float e4m3_value(unsigned code) {
  const auto exponent = static_cast<int>(code >> 3 & 15U);
  const auto fraction = static_cast<float>(code & 7U);
  if ((code & 0x7FU) == 0x7FU) return 0;
  const float magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (code & 0x80U) != 0 ? -magnitude : magnitude;
}

}  // namespace

RowFormat::RowFormat(std::vector<Section> sections, std::size_t scales, bool has_offsets)
    : sections_(std::move(sections)), scales_(scales), has_offsets_(has_offsets) {
  if (sections_.empty()) throw_invalid_argument(kWhere, "sections", "0", "at least 1");
  for (const Section& section : sections_) {
    require_section(section, dim_, scales_);
    dim_ += section.dims;
    if (section.dims > kMaxDim || dim_ > kMaxDim) {
      throw_invalid_argument(kWhere, "coordinates", "more than " + std::to_string(kMaxDim),
                             "at most " + std::to_string(kMaxDim));
    }
  }
  if (is_bfloat16() && (sections_.size() != 1 || has_offsets_)) {
    throw_invalid_argument(kWhere, "bfloat16 row", "several sections or offsets", "one section and no offset");
  }
}

bool RowFormat::is_bfloat16() const {
  return std::ranges::any_of(sections_, [](const Section& s) { return s.bits == kBfloat16Bits; });
}

RowFormat RowFormat::codebook(std::size_t dim, int bits, std::vector<float> levels) {
  return {{{.first = 0, .dims = dim, .bits = bits, .levels = std::move(levels), .scale = 0}}, 1, false};
}

RowFormat RowFormat::segmented(std::vector<Segment> segments) {
  std::vector<Section> sections;
  std::size_t first = 0;
  for (Segment& segment : segments) {
    sections.push_back({first, segment.dims, segment.bits, std::move(segment.levels), 0});
    first += segment.dims;
  }
  return {std::move(sections), 1, false};
}

RowFormat RowFormat::uniform(std::size_t dim, int bits, std::size_t group) {
  if (bits < 1 || bits > 8) throw_invalid_argument(kWhere, "bits", std::to_string(bits), "1 to 8");
  if (group == 0) throw_invalid_argument(kWhere, "group", "0", "at least 1");
  std::vector<float> levels(std::size_t{1} << bits);
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = static_cast<float>(k);
  std::vector<Section> sections;
  for (std::size_t first = 0; first < dim; first += group) {
    sections.push_back({first, std::min(group, dim - first), bits, levels, sections.size()});
  }
  const std::size_t scales = sections.size();
  return {std::move(sections), scales, true};
}

RowFormat RowFormat::q8_0(std::size_t dim) {
  std::vector<float> levels(256);
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = static_cast<float>(k) - 128;
  std::vector<Section> sections;
  for (std::size_t first = 0; first < dim; first += 32) {
    sections.push_back({first, std::min<std::size_t>(32, dim - first), 8, levels, sections.size()});
  }
  const std::size_t scales = sections.size();
  return {std::move(sections), scales, false};
}

RowFormat RowFormat::fp8_e4m3(std::size_t dim) {
  std::vector<float> levels(256);
  for (unsigned k = 0; k < 256; ++k) levels[k] = e4m3_value(k);
  return codebook(dim, 8, std::move(levels));
}

RowFormat RowFormat::bfloat16(std::size_t dim) {
  return {{{.first = 0, .dims = dim, .bits = kBfloat16Bits, .levels = {}, .scale = 0}}, 0, false};
}

}  // namespace orthant::cache

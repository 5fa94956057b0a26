#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orthant::quantizer {

/// How scales, minima and norms are stored beside the codes.
enum class MetaType : std::uint8_t { kF16, kBf16, kF32 };

constexpr std::size_t meta_bytes(MetaType type) { return type == MetaType::kF32 ? 4 : 2; }

constexpr std::string_view meta_name(MetaType type) {
  switch (type) {
    case MetaType::kF16:
      return "f16";
    case MetaType::kBf16:
      return "bf16";
    case MetaType::kF32:
      return "f32";
  }
  return {};
}

}  // namespace orthant::quantizer

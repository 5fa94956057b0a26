#pragma once

#include <cstdint>
#include <span>

namespace orthant::kv {

/// Each parses arbitrary bytes and reads everything that the parser then promises. InvalidInput is an answer; any other
/// exception, and anything a sanitizer sees, is a fault. Return true when the bytes were accepted.
bool try_safetensors(std::span<const std::uint8_t> bytes);
bool try_dump(std::span<const std::uint8_t> bytes);
bool try_npy(std::span<const std::uint8_t> bytes);

}  // namespace orthant::kv

#include "orthant/core/packed_codes.h"

#include <cassert>
#include <limits>
#include <string>

#include "orthant/core/error.h"

namespace orthant {
namespace {

void require_bits(int bits) {
  if (bits < 1 || bits > 8) throw_invalid_argument("packed_codes", "bits per code", std::to_string(bits), "1 to 8");
}

}  // namespace

std::size_t packed_bytes(std::size_t n, int bits) {
  require_bits(bits);
  const auto width = static_cast<std::size_t>(bits);
  if (n > std::numeric_limits<std::size_t>::max() / width - 8) {
    throw_invalid_argument("packed_codes", "number of codes", std::to_string(n), "n * bits below 2^64");
  }
  return (n * width + 7) / 8;
}

void pack_codes(std::span<const std::uint8_t> codes, int bits, std::span<std::uint8_t> packed) {
  require_size("pack_codes", "bytes of the packed buffer", packed.size(), packed_bytes(codes.size(), bits));
  const std::uint32_t mask = (1U << bits) - 1;
  std::uint32_t pending = 0;  // bits not yet written, lowest first
  int held = 0;
  std::size_t out = 0;
  for (const std::uint8_t code : codes) {
    assert((code & ~mask) == 0);
    pending |= (code & mask) << held;
    held += bits;
    if (held >= 8) {
      packed[out++] = static_cast<std::uint8_t>(pending);
      pending >>= 8;
      held -= 8;
    }
  }
  if (held > 0) packed[out++] = static_cast<std::uint8_t>(pending);
  assert(out == packed.size());
}

void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::uint8_t> codes) {
  require_size("unpack_codes", "bytes of the packed buffer", packed.size(), packed_bytes(codes.size(), bits));
  const std::uint32_t mask = (1U << bits) - 1;
  std::uint32_t pending = 0;
  int held = 0;
  std::size_t in = 0;
  for (std::uint8_t& code : codes) {
    if (held < bits) {
      pending |= std::uint32_t{packed[in++]} << held;
      held += 8;
    }
    code = static_cast<std::uint8_t>(pending & mask);
    pending >>= bits;
    held -= bits;
  }
}

std::uint8_t packed_code(std::span<const std::uint8_t> packed, int bits, std::size_t j) {
  require_bits(bits);
  const std::size_t first = j * static_cast<std::size_t>(bits);
  const std::size_t byte = first / 8;
  std::uint32_t window = packed[byte];
  if (first % 8 + static_cast<std::size_t>(bits) > 8) window |= std::uint32_t{packed[byte + 1]} << 8;
  return static_cast<std::uint8_t>(window >> first % 8 & ((1U << bits) - 1));
}

}  // namespace orthant

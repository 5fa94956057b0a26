#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace orthant {

/// Codes of `bits` bits, 1 to 8, as one little-endian bit string: bit i of code j is bit (j * bits + i) of the string,
/// and bit k of the string is bit k % 8 of byte k / 8. Unused bits of the last byte are zero.

/// ceil(n * bits / 8). Throws InvalidArgument unless 1 <= bits <= 8 and n * bits fits.
std::size_t packed_bytes(std::size_t n, int bits);

/// Writes packed_bytes(codes.size(), bits) bytes; packed must have exactly that size. Codes must be below 2^bits
/// (asserted; higher bits are dropped). Does not allocate.
void pack_codes(std::span<const std::uint8_t> codes, int bits, std::span<std::uint8_t> packed);

/// Inverse of pack_codes; packed must have exactly packed_bytes(codes.size(), bits) bytes, and none beyond is read.
void unpack_codes(std::span<const std::uint8_t> packed, int bits, std::span<std::uint8_t> codes);

/// Code j alone.
std::uint8_t packed_code(std::span<const std::uint8_t> packed, int bits, std::size_t j);

}  // namespace orthant

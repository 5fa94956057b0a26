#include "orthant/core/packed_codes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant {
namespace {

std::vector<std::uint8_t> random_codes(std::size_t n, int bits) {
  RngStream rng(static_cast<std::uint64_t>(bits), Domain::kData, n);
  std::vector<std::uint8_t> codes(n);
  for (auto& c : codes) c = static_cast<std::uint8_t>(rng.next_u32() & ((1U << bits) - 1));
  return codes;
}

TEST(PackedCodes, SizesAreTheCeilingOfTheBits) {
  const std::size_t at_128[] = {16, 32, 48, 64, 80, 96, 112, 128};
  for (int bits = 1; bits <= 8; ++bits) EXPECT_EQ(packed_bytes(128, bits), at_128[bits - 1]);
  EXPECT_EQ(packed_bytes(67, 3), 26U);
  EXPECT_EQ(packed_bytes(67, 5), 42U);
  EXPECT_EQ(packed_bytes(67, 6), 51U);
  EXPECT_EQ(packed_bytes(67, 7), 59U);
  EXPECT_EQ(packed_bytes(0, 4), 0U);
}

TEST(PackedCodes, LayoutIsOneLittleEndianBitString) {
  // 5 codes of 3 bits, 1 2 3 4 5: bits (lowest first) 100 010 110 001 101 -> 0xD1, 0x58.
  std::vector<std::uint8_t> packed(2, 0xFF);
  pack_codes(std::vector<std::uint8_t>{1, 2, 3, 4, 5}, 3, packed);
  EXPECT_EQ(packed, (std::vector<std::uint8_t>{0xD1, 0x58}));
}

TEST(PackedCodes, RoundTripForEveryWidthAndTail) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (std::size_t n = 0; n <= 130; ++n) {
      SCOPED_TRACE(testing::Message() << "bits=" << bits << " n=" << n);
      const auto codes = random_codes(n, bits);
      // Guard bytes on both sides catch a write past the buffer.
      std::vector<std::uint8_t> buffer(packed_bytes(n, bits) + 2, 0xA5);
      const std::span<std::uint8_t> packed(buffer.data() + 1, buffer.size() - 2);
      pack_codes(codes, bits, packed);
      EXPECT_EQ(buffer.front(), 0xA5);
      EXPECT_EQ(buffer.back(), 0xA5);
      std::vector<std::uint8_t> again(n, 0xFF);
      unpack_codes(packed, bits, again);
      EXPECT_EQ(again, codes);
      for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(packed_code(packed, bits, j), codes[j]);
      // Unused bits are zero: equal vectors have equal bytes.
      const std::size_t used = n * static_cast<std::size_t>(bits) % 8;
      if (used != 0) {
        EXPECT_EQ(packed.back() >> used, 0);
      }
    }
  }
}

TEST(PackedCodes, NoByteBeyondTheBufferIsRead) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* two = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  auto* memory = static_cast<std::uint8_t*>(two);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  for (const int bits : {3, 5, 6, 7}) {
    for (const std::size_t n : {1U, 7U, 8U, 9U, 85U, 128U}) {
      const auto codes = random_codes(n, bits);
      const std::size_t bytes = packed_bytes(n, bits);
      const std::span<std::uint8_t> packed(memory + page - bytes, bytes);  // ends at the protected page
      pack_codes(codes, bits, packed);
      std::vector<std::uint8_t> again(n);
      unpack_codes(packed, bits, again);
      EXPECT_EQ(again, codes);
      EXPECT_EQ(packed_code(packed, bits, n - 1), codes[n - 1]);
    }
  }
  munmap(two, 2 * page);
}

TEST(PackedCodes, WrongSizesAreRefused) {
  std::vector<std::uint8_t> codes(10);
  std::vector<std::uint8_t> packed(4);  // 10 codes of 3 bits take exactly 4 bytes
  EXPECT_NO_THROW(pack_codes(codes, 3, packed));
  EXPECT_THROW(pack_codes(codes, 4, packed), InvalidArgument);
  EXPECT_THROW(unpack_codes(packed, 2, codes), InvalidArgument);
  EXPECT_THROW(packed_bytes(1, 0), InvalidArgument);
  EXPECT_THROW(packed_bytes(1, 9), InvalidArgument);
  EXPECT_THROW(packed_bytes(SIZE_MAX, 8), InvalidArgument);
}

}  // namespace
}  // namespace orthant

#include "fuzz/mutate.h"

#include <algorithm>
#include <string_view>

namespace orthant {
namespace {

constexpr std::string_view kNumberParts = "0123456789-.eE\"[]{},: ";

bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }

std::size_t place(const std::vector<std::uint8_t>& bytes, RngStream& rng) {
  return static_cast<std::size_t>(rng.below(bytes.size()));
}

void change_digit(std::vector<std::uint8_t>& bytes, RngStream& rng) {
  const std::size_t from = place(bytes, rng);
  const auto digit = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(), is_digit);
  if (digit != bytes.end()) *digit = static_cast<std::uint8_t>(kNumberParts[rng.below(kNumberParts.size())]);
}

void edit(std::vector<std::uint8_t>& bytes, RngStream& rng) {
  const auto at = static_cast<std::ptrdiff_t>(place(bytes, rng));
  const auto length = static_cast<std::ptrdiff_t>(
      std::min<std::uint64_t>(1 + rng.below(16), bytes.size() - static_cast<std::size_t>(at)));
  const auto begin = bytes.begin() + at;
  switch (rng.below(7)) {
    case 0:
      *begin ^= static_cast<std::uint8_t>(1U << rng.below(8));
      break;
    case 1:
      *begin = static_cast<std::uint8_t>(rng.next_u32());
      break;
    case 2:
    case 3:
      change_digit(bytes, rng);
      break;
    case 4:
      bytes.erase(begin, begin + length);
      break;
    case 5: {
      const std::vector<std::uint8_t> run(begin, begin + length);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes, rng)), run.begin(), run.end());
      break;
    }
    default:
      bytes.resize(static_cast<std::size_t>(at));
      break;
  }
}

}  // namespace

std::vector<std::uint8_t> mutate(std::vector<std::uint8_t> bytes, RngStream& rng) {
  const std::uint64_t edits = 1 + rng.below(3);
  for (std::uint64_t i = 0; i < edits && !bytes.empty(); ++i) edit(bytes, rng);
  return bytes;
}

}  // namespace orthant

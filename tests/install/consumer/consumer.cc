#include <cstdint>
#include <cstdio>
#include <vector>

#include "orthant/core/packed_codes.h"
#include "orthant/core/rng.h"

int main() {
  std::vector<float> x(128);
  orthant::RngStream(1, orthant::Domain::kData, 0).fill_unit_vector(x);
  std::vector<std::uint8_t> codes(128);
  for (std::size_t j = 0; j < x.size(); ++j) codes[j] = x[j] > 0 ? 1 : 0;
  std::vector<std::uint8_t> packed(orthant::packed_bytes(codes.size(), 1));
  orthant::pack_codes(codes, 1, packed);
  std::printf("%zu bytes\n", packed.size());
  return packed.size() == 16 ? 0 : 1;
}

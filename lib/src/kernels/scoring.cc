#include "kernels/scoring.h"

#include <algorithm>

namespace orthant::kernels {

bool takes_turned(const Section& section, Arithmetic arithmetic) {
  const bool size = section.dims == 64 || section.dims == 128 || section.dims == 256;
  return size && section.bits >= 1 && section.bits <= 8 && section.query_planes == 1 && section.grid->planes == 1 &&
         section.grid->centre == 0 && section.offsets == kNone && !uses_tables(section, arithmetic);
}

float largest_quad(const float* query, std::size_t dims) {
  float largest = 0;
  for (std::size_t first = 0; first < dims; first += 8) {
    float x[8] = {};
    std::copy_n(query + first, std::min<std::size_t>(8, dims - first), x);
    for (std::size_t j = 0; j < 4; j += 2) {
      float above = 0;
      float below = 0;
      for (const float value : {x[j], x[j + 1], x[j + 4], x[j + 5]}) {
        above += std::max(value, 0.0F);
        below += std::max(-value, 0.0F);
      }
      largest = std::max({largest, above, below});
    }
  }
  return largest;
}

std::size_t query_bytes(const Section& section, Arithmetic arithmetic, bool exact, std::size_t count) {
  const std::size_t groups = padded_groups(section.dims);
  std::size_t bytes = 0;
  if (exact || section.bits == 16) {
    bytes = groups * 4 * sizeof(float) * count;
  } else if (uses_tables(section, arithmetic)) {
    bytes = groups * static_cast<std::size_t>(section.bits) / 8 * 128 * count;
  } else {
    bytes = groups * 4 * static_cast<std::size_t>(section.query_planes) * count;
  }
  return sizeof(QueryHeader) + (bytes + 63) / 64 * 64;
}

}  // namespace orthant::kernels

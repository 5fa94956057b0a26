#include "kernels/scoring.h"

namespace orthant::kernels {

bool takes_turned(const Section& section, Arithmetic arithmetic) {
  const bool size = section.dims == 64 || section.dims == 128 || section.dims == 256;
  return size && section.bits >= 1 && section.bits <= 8 && section.query_planes == 1 && section.grid->planes == 1 &&
         section.grid->centre == 0 && section.offsets == kNone && !uses_tables(section, arithmetic);
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

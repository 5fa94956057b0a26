// Queries made ready for the kernels of score-inl.h: blocks of 32 coordinates, in chains that do not depend on the
// width of a vector, so that all targets give the same bits. Included inside each target's namespace after its
// vocabulary Vec; no include guard.

inline constexpr std::size_t kPart = 32;  // coordinates worked on together: one block of eight groups
inline constexpr std::size_t kPartVectors = kPart / Vec::kLanes;

struct Part {
  Vec::Float at[kPartVectors];
};

/// Coordinates first .. first + kPart of a query, zeros beyond its end.
ORTHANT_INLINE Part load_part(const float* query, std::size_t dims, std::size_t first) {
  float padded[kPart];
  const float* from = query + first;
  if (dims - first < kPart) {
    std::fill(std::copy_n(from, dims - first, padded), padded + kPart, 0.0F);
    from = padded;
  }
  Part part;
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kPartVectors; ++v) {
    part.at[v] = Vec::load_float(from + v * Vec::kLanes);
  }
  return part;
}

inline float largest_magnitude(const float* query, std::size_t dims) {
  Vec::Float largest[kPartVectors];
  for (std::size_t v = 0; v < kPartVectors; ++v) largest[v] = Vec::splat_float(0);
  for (std::size_t first = 0; first < dims; first += kPart) {
    const Part part = load_part(query, dims, first);
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kPartVectors; ++v) largest[v] = Vec::max(largest[v], Vec::magnitude(part.at[v]));
  }
  for (std::size_t v = 1; v < kPartVectors; ++v) largest[0] = Vec::max(largest[0], largest[v]);
  return Vec::largest_lane(largest[0]);
}

inline float sum_of(const float* query, std::size_t dims) {
  Part sums;
  for (std::size_t v = 0; v < kPartVectors; ++v) sums.at[v] = Vec::splat_float(0);
  for (std::size_t first = 0; first < dims; first += kPart) {
    const Part part = load_part(query, dims, first);
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kPartVectors; ++v) sums.at[v] = Vec::add(sums.at[v], part.at[v]);
  }
  return sum_by_halves(sums.at);
}

/// True when scores depend on the sum of a query.
inline bool needs_sum(const Section& section) {
  return section.offsets != kNone || section.bits == 0 || (section.bits != 16 && section.grid->centre != 0);
}

/// What becomes the largest query byte: the largest magnitude, or more where quads are limited.
inline float reach_of(const Section& section, const float* query) {
  const float largest = largest_magnitude(query, section.dims);
  if (!limits_quads(section, Vec::kArithmetic)) return largest;
  return std::max(largest, largest_quad(query, section.dims) * (127.0F / kQuadTop));
}

/// A query in one byte plane or two: value = round(q * 127 * base / largest) = high * base + low, base 1 for one plane.
template <std::size_t kPlanes, int kBaseBits>
struct QueryPlanes {
  float inverse;  ///< 127 * base / largest
  Vec::Word high_sum = Vec::splat(0);
  Vec::Word low_sum = Vec::splat(0);

  explicit QueryPlanes(float largest) : inverse(largest > 0 ? top() / largest : 0.0F) {}
  static float top() { return static_cast<float>(127 << (kPlanes == 2 ? kBaseBits : 0)); }

  /// The bytes of Vec::kLanes coordinates.
  ORTHANT_INLINE void split(Vec::Float x, std::byte* high, std::byte* low) {
    const Vec::Word value = Vec::round(Vec::mul(x, Vec::splat_float(inverse)));
    Vec::Word h = value;
    if constexpr (kPlanes == 2) {
      h = Vec::template shift_right_signed<kBaseBits>(Vec::add_words(value, Vec::splat(1 << (kBaseBits - 1))));
      const Vec::Word l = Vec::subtract_words(value, Vec::template shift<-kBaseBits>(h));
      low_sum = Vec::add_words(low_sum, l);
      Vec::store_bytes(low, l);
    }
    high_sum = Vec::add_words(high_sum, h);
    Vec::store_bytes(high, h);
  }

  /// Factors and seeds for levels of this grid; scale: of the scores.
  ORTHANT_INLINE void finish(const LevelGrid& grid, float largest, float scale, QueryHeader& header,
                             std::size_t q) const {
    constexpr auto kBase = static_cast<float>(1 << (kPlanes == 2 ? kBaseBits : 0));
    const std::int32_t high_total = Vec::sum_of_lanes(high_sum);
    const std::int32_t low_total = Vec::sum_of_lanes(low_sum);
    const float product = largest > 0 ? grid.step * (largest / top()) * scale : 0.0F;
    // Vec::dot takes levels less Vec::kLevelBias; the sums wanted are those of levels less zero, or of low planes as
    // is.
    const std::int32_t less = Vec::kLevelBias - grid.zero;
    header.seed_a[q] = less * high_total;
    header.seed_b[q] = less * low_total;
    header.factor_a[q] = product * kBase;
    header.factor_b[q] = product;
    if (grid.planes == 2) {
      // The left-out product of low planes, sum l_level l_query, is base / 2 * sum l_query on average.
      header.seed_b[q] += Vec::kLevelBias * high_total + low_total / 2;
      header.factor_a[q] *= kBase;
      header.factor_b[q] *= kBase;
    }
  }
};

/// Queries split into planes: word (group, plane, query) at ((group * planes + plane) * count + query).
template <std::size_t kPlanes, int kBaseBits>
void prepare_planes(const Section& section, const QueryRows& queries, std::size_t q, float largest, QueryHeader& header,
                    std::byte* data) {
  QueryPlanes<kPlanes, kBaseBits> planes(largest);
  const std::size_t groups = padded_groups(section.dims);
  for (std::size_t g = 0; g < groups; g += kPart / 4) {
    const Part part = load_part(queries.data + q * queries.stride, section.dims, 4 * g);
    std::byte bytes[kPlanes][kPart];
    // One plane of one query lies there as it is; by way of `bytes` a load would wait for two stores.
    const bool in_place = kPlanes == 1 && queries.count == 1;
    std::byte* const high = in_place ? data + 4 * g : bytes[0];
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kPartVectors; ++v) {
      planes.split(part.at[v], high + v * Vec::kLanes, bytes[kPlanes - 1] + v * Vec::kLanes);
    }
    if (in_place) continue;
    std::byte* to = data + (g * kPlanes * queries.count + q) * 4;
    for (std::size_t i = 0; i < kPart / 4; ++i) {
      for (std::size_t p = 0; p < kPlanes; ++p, to += queries.count * 4) std::memcpy(to, bytes[p] + 4 * i, 4);
    }
  }
  planes.finish(*section.grid, largest, queries.scale, header, q);
}

inline constexpr int kBaseBits = Vec::kArithmetic == Arithmetic::kNarrow ? 7 : 8;  // log2 of LevelGrid::base

/// Deviations from the centre, of the codes of each nibble.
struct NibbleLevels {
  float deviation[4][16];  // of code i of nibble e
  explicit NibbleLevels(const Section& section) {
    const auto bits = static_cast<std::size_t>(section.bits);
    for (std::size_t i = 0; i < 4 / bits; ++i) {
      for (std::size_t e = 0; e < 16; ++e) {
        deviation[i][e] = section.levels[e >> (bits * i) & ((std::size_t{1} << bits) - 1)] - section.grid->centre;
      }
    }
  }
};

/// max over nibbles of the sum of |q_j| over its codes.
template <std::size_t kCodes>
float largest_nibble(const Section& section, const QueryRows& queries, std::size_t q) {
  float largest[4] = {};
  for (std::size_t first = 0; first < 4 * padded_groups(section.dims); first += kPart) {
    const Part part = load_part(queries.data + q * queries.stride, section.dims, first);
    float magnitude[kPart];
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kPartVectors; ++v) {
      Vec::store_float(magnitude + v * Vec::kLanes, Vec::magnitude(part.at[v]));
    }
    for (std::size_t i = 0; i < kPart; i += 4 * kCodes) {
      for (std::size_t j = 0; j < 4; ++j) {
        float sum = magnitude[i + j];
        for (std::size_t k = 1; k < kCodes; ++k) sum += magnitude[i + 4 * k + j];
        largest[j] = sum > largest[j] ? sum : largest[j];
      }
    }
  }
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

/// Tables of partial scores for whole nibbles: see TableSink.
template <int kBits>
void prepare_tables(const Section& section, const QueryRows& queries, std::size_t q, QueryHeader& header,
                    std::byte* data) {
  constexpr std::size_t kCodes = 4 / kBits;  // in a nibble
  constexpr std::size_t kVectors = 16 / Vec::kLanes;
  constexpr auto kTop = static_cast<float>(table_top(kBits));
  const NibbleLevels levels(section);
  const float reach = largest_nibble<kCodes>(section, queries, q) * section.half_range;
  const Vec::Float inverse = Vec::splat_float(reach > 0 ? kTop / reach : 0.0F);
  const std::size_t groups = padded_groups(section.dims);
  for (std::size_t g = 0; g < groups; g += kPart / 4) {
    const Part part = load_part(queries.data + q * queries.stride, section.dims, 4 * g);
    float value[kPart];
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kPartVectors; ++v) Vec::store_float(value + v * Vec::kLanes, part.at[v]);
    for (std::size_t i = 0; i < kPart / 4; i += kCodes) {
      const std::size_t nibble = (g + i) / kCodes;  // two of them in each row
      std::byte* const table = data + (nibble / 2 * queries.count + q) * 128 + nibble % 2 * 64;
      ORTHANT_UNROLL
      for (std::size_t j = 0; j < 4; ++j) {
        ORTHANT_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          Vec::Float entry = Vec::splat_float(0);
          ORTHANT_UNROLL
          for (std::size_t k = 0; k < kCodes; ++k) {
            entry = Vec::fma(Vec::splat_float(value[4 * (i + k) + j]),
                             Vec::load_float(levels.deviation[k] + v * Vec::kLanes), entry);
          }
          Vec::store_bytes(table + 16 * j + v * Vec::kLanes, Vec::round(Vec::mul(entry, inverse)));
        }
      }
    }
  }
  header.factor_a[q] = reach / kTop * queries.scale;
}

/// Float queries, coordinate by coordinate, the queries of a batch side by side.
inline void prepare_floats(const Section& section, const QueryRows& queries, std::size_t q, std::byte* data) {
  auto* to = reinterpret_cast<float*>(data) + q;
  const float* query = queries.data + q * queries.stride;
  const std::size_t padded = 4 * padded_groups(section.dims);
  for (std::size_t j = 0; j < padded; ++j) {
    to[j * queries.count] = j < section.dims ? query[j] * queries.scale : 0.0F;
  }
}

inline void prepare(const Section& section, const QueryRows& queries, bool exact, std::byte* prepared) {
  auto& header = *new (prepared) QueryHeader{};
  std::byte* data = prepared + sizeof(QueryHeader);
  for (std::size_t q = 0; q < queries.count; ++q) {
    const float* const query = queries.data + q * queries.stride;
    if (needs_sum(section)) header.sum[q] = sum_of(query, section.dims) * queries.scale;
    if (section.bits == 0) {  // no rows: the sums stay zero, every coordinate is the one level
      header.constant[q] = section.levels[0] * header.sum[q];
      continue;
    }
    if (exact || section.bits == 16) {
      prepare_floats(section, queries, q, data);
      continue;
    }
    header.constant[q] = section.grid->centre * header.sum[q];
    if (uses_tables(section, Vec::kArithmetic)) {
      (section.bits == 1 ? prepare_tables<1> : prepare_tables<2>)(section, queries, q, header, data);
    } else {
      (section.query_planes == 1
           ? prepare_planes<1, kBaseBits>
           : prepare_planes<2, kBaseBits>)(section, queries, q, reach_of(section, query), header, data);
    }
  }
}

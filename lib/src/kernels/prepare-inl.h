// Queries made ready for the kernels of score-inl.h. Plain loops over fixed blocks, so that every target's compiler can
// widen them and all give the same bits. Included inside each target's namespace; no include guard.

inline constexpr std::size_t kPart = 32;  // coordinates worked on together: one block of eight groups

/// Coordinates first .. first + kPart of a query, scaled, zeros beyond its end.
ORTHANT_INLINE void load_part(const float* query, std::size_t dims, float scale, std::size_t first,
                              float (&part)[kPart]) {
  const std::size_t count = std::min(kPart, dims - first);
  if (count == kPart) {
    for (std::size_t j = 0; j < kPart; ++j) part[j] = query[first + j] * scale;
  } else {
    for (std::size_t j = 0; j < kPart; ++j) part[j] = j < count ? query[first + j] * scale : 0.0F;
  }
}

struct QuerySummary {
  float largest;  ///< max_j |q_j|
  float sum;
};

inline QuerySummary summarise(const float* query, std::size_t dims, float scale) {
  float largest[kPart] = {};
  float sum[kPart] = {};
  float part[kPart];
  for (std::size_t first = 0; first < dims; first += kPart) {
    load_part(query, dims, scale, first, part);
    for (std::size_t j = 0; j < kPart; ++j) {
      const float magnitude = std::fabs(part[j]);
      largest[j] = magnitude > largest[j] ? magnitude : largest[j];
      sum[j] += part[j];
    }
  }
  for (std::size_t half = kPart / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      largest[j] = std::max(largest[j], largest[j + half]);
      sum[j] += sum[j + half];
    }
  }
  return {largest[0], sum[0]};
}

ORTHANT_INLINE std::int32_t rounded(float x) { return static_cast<std::int32_t>(x + std::copysign(0.5F, x)); }

/// Query bytes in one or two planes: word (group, plane, query) at ((group * planes + plane) * count + query).
inline void prepare_planes(const Section& section, const QueryRows& queries, std::size_t q, float largest,
                           QueryHeader& header, std::byte* data) {
  const LevelGrid& grid = *section.grid;
  const auto planes = static_cast<std::size_t>(section.query_planes);
  const int base = planes == 2 ? grid.base : 1;
  const float top = 127.0F * static_cast<float>(base);
  const float inverse = largest > 0 ? top / largest : 0.0F;
  const float inverse_base = 1.0F / static_cast<float>(base);
  std::int32_t high_sum[kPart] = {};
  std::int32_t low_sum[kPart] = {};
  const std::size_t groups = padded_groups(section.dims);
  for (std::size_t g = 0; g < groups; g += kPart / 4) {
    float part[kPart];
    std::int8_t high[kPart];
    std::int8_t low[kPart];
    load_part(queries.data + q * queries.stride, section.dims, queries.scale, 4 * g, part);
    for (std::size_t j = 0; j < kPart; ++j) {
      const std::int32_t value = rounded(part[j] * inverse);
      const std::int32_t h = base == 1 ? value : rounded(static_cast<float>(value) * inverse_base);
      const std::int32_t l = value - h * base;
      high[j] = static_cast<std::int8_t>(h);
      low[j] = static_cast<std::int8_t>(l);
      high_sum[j] += h;
      low_sum[j] += l;
    }
    for (std::size_t i = 0; i < kPart / 4; ++i) {
      std::byte* word = data + ((g + i) * planes * queries.count + q) * 4;
      std::memcpy(word, high + 4 * i, 4);
      if (planes == 2) std::memcpy(word + 4 * queries.count, low + 4 * i, 4);
    }
  }
  std::int32_t high_total = 0;
  std::int32_t low_total = 0;
  for (std::size_t j = 0; j < kPart; ++j) {
    high_total += high_sum[j];
    low_total += low_sum[j];
  }
  const float product = largest > 0 ? grid.step * (largest / top) : 0.0F;
  // Vec::dot takes levels less Vec::kLevelBias; the sums wanted are those of levels less zero, or of low planes as is.
  const std::int32_t less = Vec::kLevelBias - grid.zero;
  header.seed_a[q] = less * high_total;
  if (grid.planes == 2) {
    // The left-out product of low planes, sum l_level l_query, has mean (base - 1) / 2 * sum l_query.
    header.seed_b[q] = less * low_total + Vec::kLevelBias * high_total + low_total / 2;
    header.factor_a[q] = product * static_cast<float>(base) * static_cast<float>(base);
    header.factor_b[q] = product * static_cast<float>(base);
  } else {
    header.seed_b[q] = less * low_total;
    header.factor_a[q] = product * static_cast<float>(base);
    header.factor_b[q] = product;
  }
}

/// Tables of partial scores for whole nibbles: see TableSink.
inline void prepare_tables(const Section& section, const QueryRows& queries, std::size_t q, QueryHeader& header,
                           std::byte* data) {
  const auto bits = static_cast<std::size_t>(section.bits);
  const std::size_t codes = 4 / bits;  // in a nibble
  const float centre = section.grid->centre;
  float deviation[4][16];  // of code i of nibble e from the centre
  for (std::size_t i = 0; i < codes; ++i) {
    for (std::size_t e = 0; e < 16; ++e) {
      deviation[i][e] = section.levels[e >> (bits * i) & ((std::size_t{1} << bits) - 1)] - centre;
    }
  }
  const float* query = queries.data + q * queries.stride;
  const std::size_t groups = padded_groups(section.dims);
  float part[kPart];
  float largest = 0;
  for (std::size_t g = 0; g < groups; g += kPart / 4) {
    load_part(query, section.dims, queries.scale, 4 * g, part);
    for (std::size_t i = 0; i < kPart / 4; i += codes) {
      for (std::size_t j = 0; j < 4; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < codes; ++k) sum += std::fabs(part[4 * (i + k) + j]);
        largest = std::max(largest, sum);
      }
    }
  }
  const float reach = largest * section.half_range;
  const float inverse = reach > 0 ? 127.0F / reach : 0.0F;
  for (std::size_t g = 0; g < groups; g += kPart / 4) {
    load_part(query, section.dims, queries.scale, 4 * g, part);
    for (std::size_t i = 0; i < kPart / 4; i += codes) {
      const std::size_t nibble = (g + i) / codes;  // two of them in each row
      auto* table = reinterpret_cast<std::int8_t*>(data + (nibble / 2 * queries.count + q) * 128 + nibble % 2 * 64);
      for (std::size_t j = 0; j < 4; ++j) {
        float entry[16] = {};
        for (std::size_t k = 0; k < codes; ++k) {
          const float value = part[4 * (i + k) + j];
          for (std::size_t e = 0; e < 16; ++e) entry[e] += value * deviation[k][e];
        }
        for (std::size_t e = 0; e < 16; ++e) {
          table[16 * j + e] = static_cast<std::int8_t>(rounded(entry[e] * inverse));
        }
      }
    }
  }
  header.factor_a[q] = reach / 127.0F;
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
    const QuerySummary summary = summarise(queries.data + q * queries.stride, section.dims, queries.scale);
    header.sum[q] = summary.sum;
    if (section.bits == 0) {  // no rows: the sums stay zero, every coordinate is the one level
      header.constant[q] = section.levels[0] * summary.sum;
      continue;
    }
    if (exact || section.bits == 16) {
      prepare_floats(section, queries, q, data);
      continue;
    }
    header.constant[q] = section.grid->centre * summary.sum;
    if (uses_tables(section, Vec::kArithmetic)) {
      prepare_tables(section, queries, q, header, data);
    } else {
      prepare_planes(section, queries, q, summary.largest, header, data);
    }
  }
}

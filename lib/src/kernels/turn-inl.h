// Queries of a matched cache made ready for integer kernels in one go: turned back to the start of a tile, scaled,
// rotated by a Hadamard matrix and rounded to bytes. The butterflies are sums of 16-bit integers, half the vectors that
// floats take and exact in any order: all targets give the same bits. Included inside each target's namespace after
// prepare-inl.h; no include guard.

/// All butterflies of distances below kFar inside each vector.
template <std::size_t kDistance, std::size_t kFar, std::size_t kVectors>
ORTHANT_INLINE void butterflies_inside(Vec::Halves (&v)[kVectors]) {
  if constexpr (kDistance < kFar) {
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < kVectors; ++i) v[i] = Vec::template butterfly<kDistance>(v[i]);
    butterflies_inside<2 * kDistance, kFar>(v);
  }
}

/// v <- H v, unscaled.
template <std::size_t kVectors>
ORTHANT_INLINE void hadamard(Vec::Halves (&v)[kVectors]) {
  butterflies_inside<1, Vec::kHalfLanes>(v);
  ORTHANT_UNROLL
  for (std::size_t h = 1; h < kVectors; h *= 2) {
    ORTHANT_UNROLL
    for (std::size_t pair = 0; pair < kVectors / 2; ++pair) {
      const std::size_t i = pair / h * 2 * h + pair % h;
      const Vec::Halves sum = Vec::add_halves(v[i], v[i + h]);
      v[i + h] = Vec::subtract_halves(v[i], v[i + h]);
      v[i] = sum;
    }
  }
}

/// What of a query does not depend on the tile: with the angles phi of one,
///   v_i = C_i cos phi_i + S_i sin phi_i,  v_{i + pairs} = C'_i cos phi_i + S'_i sin phi_i,
///   mean's product = sum_i M_i cos phi_i + N_i sin phi_i.
template <std::size_t kDims>
class TurningQuery {
 public:
  static constexpr std::size_t kPairs = kDims / 2;

  TurningQuery(const TurnedQueries& queries, std::size_t q) {
    const float* const x = queries.rows.data + q * queries.rows.stride;
    unit_ = std::max(bound(x, queries.reaches), kLeastTurnedBound) / kTurnedTop;
    const Vec::Float inverse = Vec::splat_float(1 / unit_);
    for (std::size_t i = 0; i < kPairs; i += Vec::kLanes) {
      const Vec::Float a = Vec::load_float(x + i);
      const Vec::Float b = Vec::load_float(x + kPairs + i);
      const Vec::Float cosine = Vec::load_float(queries.block_phases + i);
      const Vec::Float sine = Vec::load_float(queries.block_phases + kPairs + i);
      const Vec::Float first = Vec::fma(a, cosine, Vec::mul(negative(b), sine));
      const Vec::Float second = Vec::fma(b, cosine, Vec::mul(a, sine));
      const Vec::Float minus_second = negative(second);
      const Vec::Float first_scale = Vec::mul(Vec::load_float(queries.scales + i), inverse);
      const Vec::Float second_scale = Vec::mul(Vec::load_float(queries.scales + kPairs + i), inverse);
      const Vec::Float first_mean = Vec::load_float(queries.mean + i);
      const Vec::Float second_mean = Vec::load_float(queries.mean + kPairs + i);
      Vec::store_float(first_[0] + i, Vec::mul(first_scale, first));
      Vec::store_float(first_[1] + i, Vec::mul(first_scale, minus_second));
      Vec::store_float(second_[0] + i, Vec::mul(second_scale, second));
      Vec::store_float(second_[1] + i, Vec::mul(second_scale, first));
      Vec::store_float(mean_[0] + i, Vec::fma(first, first_mean, Vec::mul(second, second_mean)));
      Vec::store_float(mean_[1] + i, Vec::fma(first, second_mean, Vec::mul(minus_second, first_mean)));
    }
  }

  /// One plane of bytes for the tile of these phases, and the header's entries of query q.
  ORTHANT_INLINE void prepare(const float* phases, const LevelGrid& grid, float scale, std::size_t q,
                              QueryHeader& header, std::byte* bytes) const {
    Vec::Halves v[kVectors];
    header.term[q] = turn(phases, v) * scale;
    hadamard(v);
    Vec::Halves largest = Vec::magnitude_halves(v[0]);
    ORTHANT_UNROLL
    for (std::size_t i = 1; i < kVectors; ++i) largest = Vec::max_halves(largest, Vec::magnitude_halves(v[i]));
    const int most = Vec::largest_half(largest);
    // At most 127 when all is multiplied by it and divided by 2^15, and quads within their limit.
    int factor = most <= 127 ? 32767 : 127 * 32768 / most;
    if constexpr (Vec::kArithmetic == Arithmetic::kNarrow) factor = std::min(factor, largest_quad_factor<Vec>(v));
    Vec::Word total = Vec::splat(0);
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < kVectors; i += 2) {
      const Vec::Word packed = Vec::narrow_halves(Vec::scale_halves(v[i], factor), Vec::scale_halves(v[i + 1], factor));
      Vec::store(bytes + Vec::kHalfLanes * i, packed);
      total = Vec::dot(total, Vec::splat(0x01010101), packed);
    }
    header.seed_a[q] = (Vec::kLevelBias - grid.zero) * Vec::sum_of_lanes(total);
    header.factor_a[q] = grid.step * (unit_ * (32768.0F / static_cast<float>(factor))) * scale;
  }

 private:
  static constexpr std::size_t kVectors = kDims / Vec::kHalfLanes;

  static ORTHANT_INLINE Vec::Float negative(Vec::Float x) { return Vec::mul(x, Vec::splat_float(-1)); }

  /// sum_i reach_i |(x_i, x_{i + pairs})|, or a little more: a chord of sqrt(1 + t^2) in place of the root.
  static float bound(const float* x, const float* reaches) {
    Vec::Float sums[kChainVectors];
    for (std::size_t c = 0; c < kChainVectors; ++c) sums[c] = Vec::splat_float(0);
    for (std::size_t i = 0; i < kPairs; i += kChains) {
      ORTHANT_UNROLL
      for (std::size_t c = 0; c < kChainVectors; ++c) {
        const std::size_t at = i + c * Vec::kLanes;
        const Vec::Float a = Vec::magnitude(Vec::load_float(x + at));
        const Vec::Float b = Vec::magnitude(Vec::load_float(x + kPairs + at));
        constexpr float kChord = 0.414214F;  // above sqrt(2) - 1
        const Vec::Float length = Vec::fma(Vec::splat_float(kChord), Vec::min(a, b), Vec::max(a, b));
        sums[c] = Vec::fma(length, Vec::load_float(reaches + at), sums[c]);
      }
    }
    return sum_by_halves(sums);
  }

  /// For what largest_quad is of integers.
  template <class V>
  static ORTHANT_INLINE int largest_quad_factor(const typename V::Halves (&v)[kVectors]) {
    const typename V::Halves zero = V::subtract_halves(v[0], v[0]);
    typename V::Word pairs[2][kVectors];
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < kVectors; ++i) {
      pairs[0][i] = V::pair_sums(V::max_halves(v[i], zero));
      pairs[1][i] = V::pair_sums(V::max_halves(V::subtract_halves(zero, v[i]), zero));
    }
    typename V::Word largest = V::splat(0);
    ORTHANT_UNROLL
    for (std::size_t sign = 0; sign < 2; ++sign) {
      ORTHANT_UNROLL
      for (std::size_t i = 0; i < kVectors; ++i) {
        // Pairs lie in words w and w + 2 of every four.
        const typename V::Word other = V::kLanes == 1 ? pairs[sign][i ^ 2] : V::word_after_next(pairs[sign][i]);
        largest = V::max_words(largest, V::add_words(pairs[sign][i], other));
      }
    }
    const int most = V::largest_word(largest);
    return most <= kQuadTop ? 32767 : kQuadTop * 32768 / most;
  }

  /// Fills v; the mean's product.
  ORTHANT_INLINE float turn(const float* phases, Vec::Halves (&v)[kVectors]) const {
    Vec::Float sums[kChainVectors];
    for (std::size_t c = 0; c < kChainVectors; ++c) sums[c] = Vec::splat_float(0);
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < kPairs; i += Vec::kHalfLanes) {
      Vec::Word first[2];
      Vec::Word second[2];
      ORTHANT_UNROLL
      for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t at = i + half * Vec::kLanes;
        const Vec::Float c = Vec::load_float(phases + at);
        const Vec::Float s = Vec::load_float(phases + kPairs + at);
        first[half] = Vec::round(turned(first_, at, c, s));
        second[half] = Vec::round(turned(second_, at, c, s));
        Vec::Float& sum = sums[at % kChains / Vec::kLanes];
        sum = Vec::add(sum, turned(mean_, at, c, s));
      }
      v[i / Vec::kHalfLanes] = Vec::narrow(first[0], first[1]);
      v[(kPairs + i) / Vec::kHalfLanes] = Vec::narrow(second[0], second[1]);
    }
    return sum_by_halves(sums);
  }

  static ORTHANT_INLINE Vec::Float turned(const float (&of)[2][kPairs], std::size_t at, Vec::Float c, Vec::Float s) {
    return Vec::fma(Vec::load_float(of[0] + at), c, Vec::mul(Vec::load_float(of[1] + at), s));
  }

  float unit_;
  alignas(64) float first_[2][kPairs];
  alignas(64) float second_[2][kPairs];
  alignas(64) float mean_[2][kPairs];
};

/// Words of one query after the other become those of one group after the other, the queries side by side.
template <std::size_t kDims>
void put_side_by_side(std::size_t count, std::byte* data) {
  constexpr std::size_t kGroups = kDims / 4;
  std::byte words[kMaxBatch * kDims];
  std::memcpy(words, data, count * kDims);
  for (std::size_t q = 0; q < count; ++q)
    for (std::size_t g = 0; g < kGroups; ++g) std::memcpy(data + 4 * (g * count + q), words + 4 * (q * kGroups + g), 4);
}

template <std::size_t kDims>
void prepare_turned_of(const Section& section, const TurnedQueries& queries, std::byte* prepared, std::size_t stride) {
  const std::size_t count = queries.rows.count;
  for (std::size_t t = 0; t < queries.tiles; ++t) new (prepared + t * stride) QueryHeader{};
  for (std::size_t q = 0; q < count; ++q) {
    const TurningQuery<kDims> query(queries, q);
    for (std::size_t t = 0; t < queries.tiles; ++t) {
      std::byte* const at = prepared + t * stride;
      query.prepare(queries.tile_phases + t * kDims, *section.grid, queries.rows.scale, q,
                    *reinterpret_cast<QueryHeader*>(at), at + sizeof(QueryHeader) + q * kDims);
    }
  }
  for (std::size_t t = 0; t < queries.tiles && count > 1; ++t)
    put_side_by_side<kDims>(count, prepared + t * stride + sizeof(QueryHeader));
}

inline void prepare_turned(const Section& section, const TurnedQueries& queries, std::byte* prepared,
                           std::size_t stride) {
  switch (section.dims) {
    case 64:
      return prepare_turned_of<64>(section, queries, prepared, stride);
    case 128:
      return prepare_turned_of<128>(section, queries, prepared, stride);
    default:
      return prepare_turned_of<256>(section, queries, prepared, stride);
  }
}

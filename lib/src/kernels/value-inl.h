// Weighted sums of coded values, tile by tile: tokens are the coordinates of the sinks in score-inl.h, and the weights
// of a tile are made ready on the spot. Included inside each target's namespace after score-inl.h; no include guard.

inline constexpr std::size_t kTokens = kLanes;  // of a tile
inline constexpr std::size_t kTilesAhead = 2;   // whose scales are fetched

/// Where word (group, plane, query) of a tile's weights lies: the bytes of a plane together, as they are produced.
template <std::size_t kPlanes>
struct PlaneByPlane {
  static constexpr std::size_t kGroupBytes = 4;
  static constexpr std::size_t offset(std::size_t group, std::size_t plane, std::size_t query) {
    return (query * kPlanes + plane) * kTokens + 4 * group;
  }
};

/// Float weights, those of a query together; a group is kWords tokens.
template <std::size_t kWords>
struct QueryByQuery {
  static constexpr std::size_t kGroupBytes = 4 * kWords;
  static constexpr std::size_t offset(std::size_t group, std::size_t word, std::size_t query) {
    return 4 * (query * kTokens + group * kWords + word);
  }
};

/// The weights of one tile times the scales of its tokens.
template <std::size_t kQueries>
struct TileWeights {
  alignas(64) float scaled[kQueries][kTokens];
  float lowest[kQueries];  ///< or 0, if it is more
  float highest[kQueries];
  bool any;  ///< is not zero

  float magnitude(std::size_t q) const { return std::max(highest[q], -lowest[q]); }

  /// Adds to the constants of the run; `middle` is what the kernel takes levels less.
  ORTHANT_INLINE void load(const Section& section, const ValueRun& run, std::size_t tile, float middle) {
    const std::byte* const bytes = run.tiles + tile * section.tile_bytes;
    const std::byte* const scales = section.scales == kNone ? nullptr : bytes + section.scales;
    const std::byte* const offsets = section.offsets == kNone ? nullptr : bytes + section.offsets;
    // Read before the rows of the tile, out of the order that processors foresee.
    for (std::size_t line = 0; scales != nullptr && line < 2 * kTokens; line += 64) {
      Vec::prefetch(scales + line, kTilesAhead * section.tile_bytes);
    }
    const float* weights = run.weights + tile * kTokens;
    const std::size_t stride = run.weight_stride;
    float* constants = run.constants;
    const bool has_constants = middle != 0 || offsets != nullptr;
    any = false;
    for (std::size_t q = 0; q < kQueries; ++q, weights += stride, constants += kConstantChains) {
      Vec::Float high = Vec::splat_float(-std::numeric_limits<float>::infinity());
      Vec::Float low = Vec::splat_float(std::numeric_limits<float>::infinity());
      ORTHANT_UNROLL
      for (std::size_t t = 0; t < kTokens; t += Vec::kLanes) {
        const Vec::Float weight = Vec::load_float(weights + t);
        const Vec::Float x = scales == nullptr ? weight : Vec::mul(weight, Vec::load_half(scales + 2 * t));
        Vec::store_float(scaled[q] + t, x);
        high = Vec::max(high, x);
        low = Vec::min(low, x);
        if (!has_constants) continue;
        float* const chains = constants + t % kConstantChains;
        Vec::Float constant = Vec::fma(x, Vec::splat_float(middle), Vec::load_float(chains));
        if (offsets != nullptr) constant = Vec::fma(weight, Vec::load_half(offsets + 2 * t), constant);
        Vec::store_float(chains, constant);
      }
      highest[q] = Vec::largest_lane(high);
      // Those of an attention never are: what would only be waited for is left out.
      lowest[q] = Vec::any_negative(low) ? -Vec::largest_lane(Vec::mul(low, Vec::splat_float(-1))) : 0.0F;
      any = any || magnitude(q) > 0;
    }
  }
};

/// True where dot products take unsigned weights and signed levels as they are. Where both factors must be signed,
/// weights are kept less 128, and 128 times the sum of the levels is added.
inline constexpr bool kUnsignedWeights = Vec::kLevelBias == 0;

/// Weights in one byte: weight = lowest + step * byte, lowest <= 0, 0 <= byte <= 254, the step 1/254 of the range of
/// the tile's weights and zero. What a byte rounds off goes to the weight sixteen tokens on: many small weights beside
/// a large one, each of them less than half a step, keep their sum.
struct ByteWeights {
  static constexpr std::size_t kResiduals = 16;
  static constexpr std::size_t kResidualVectors = kResiduals / Vec::kLanes;
  float lowest;
  float step;

  ORTHANT_INLINE ByteWeights(const float* weights, float low, float high, std::byte* bytes)
      : lowest(low), step(((high > 0 ? high : 0.0F) - lowest) * (1.0F / 254)) {
    const float inverse = step > 0 ? 1 / step : 0.0F;
    const Vec::Float minus_lowest = Vec::splat_float(-lowest * inverse);
    Vec::Float residuals[kResidualVectors];
    for (std::size_t v = 0; v < kResidualVectors; ++v) residuals[v] = Vec::splat_float(0);
    ORTHANT_UNROLL
    for (std::size_t t = 0; t < kTokens; t += kResiduals) {
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kResidualVectors; ++v) {
        const std::size_t at = t + v * Vec::kLanes;
        const Vec::Float x =
            Vec::fma(Vec::load_float(weights + at), Vec::splat_float(inverse), Vec::add(minus_lowest, residuals[v]));
        // A residual of minus a half, and a rounding error, would make it less than zero.
        const Vec::Float whole = Vec::whole(Vec::max(x, Vec::splat_float(0)));
        residuals[v] = Vec::fma(whole, Vec::splat_float(-1), x);
        Vec::Word byte = Vec::round(whole);
        if constexpr (!kUnsignedWeights) byte = Vec::subtract_words(byte, Vec::splat(128));
        Vec::store_bytes(bytes + at, byte);
      }
    }
  }
};

template <std::size_t kQueries, std::size_t kVectors, class Sink>
ORTHANT_INLINE void add_totals(const Sink& sink, const QueryHeader& header, float* totals, std::size_t stride) {
  ORTHANT_UNROLL
  for (std::size_t q = 0; q < kQueries; ++q) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const to = totals + q * stride + v * Vec::kLanes;
      Vec::store_float(to, Vec::add(Vec::load_float(to), sink.value(v, q, header)));
    }
  }
}

/// The rows of lane `lane` of a run of 64 coordinates, and where they end up.
struct LaneRows {
  const std::byte* rows;
  float* totals;
  ORTHANT_INLINE LaneRows(const Section& section, const ValueRun& run, std::size_t tile, std::size_t lane)
      : rows(run.tiles + tile * section.tile_bytes + section.offset + lane / kLanes * section.rows * kRowBytes +
             4 * (lane % kLanes)),
        totals(run.totals + lane) {}
};

/// The weights of a tile in one byte each, and one more query, of ones: it sums the levels themselves, which the lowest
/// weights multiply.
template <std::size_t kQueries>
struct ByteTile {
  alignas(64) std::byte bytes[kQueries + 1][kTokens];
  float factors[kQueries];
  float lowest[kQueries];
  bool any = false;
  bool needs_levels = false;

  ByteTile() { std::fill_n(bytes[kQueries], kTokens, std::byte{1}); }

  ORTHANT_INLINE void round(const LevelGrid& grid, const TileWeights<kQueries>& weights) {
    any = weights.any;
    needs_levels = !kUnsignedWeights;
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      const ByteWeights rounded(weights.scaled[q], weights.lowest[q], weights.highest[q], bytes[q]);
      factors[q] = grid.step * rounded.step;
      lowest[q] = grid.step * rounded.lowest;
      needs_levels = needs_levels || rounded.lowest < 0;
    }
  }
};

/// kWithLevels: sums of the levels too.
template <int kBits, std::size_t kQueries, bool kWithLevels>
ORTHANT_INLINE void byte_sums_of_tile(const Section& section, const ValueRun& run, std::size_t i,
                                      const Vec::Lookup<kBits>& levels, const ByteTile<kQueries>& tile) {
  constexpr std::size_t kSums = kQueries + (kWithLevels ? 1 : 0);
  constexpr std::size_t kVectors = kVectorsFor<kSums>;
  constexpr Dots kDots = kUnsignedWeights ? Dots::kUnsignedQueries : Dots::kSingle;
  const QueryHeader no_seeds{};
  for (std::size_t lane = 0; lane < run.lane_tiles * kLanes; lane += Vec::kLanes * kVectors) {
    const LaneRows at(section, run, i, lane);
    IntegerSink<kBits, 1, 1, kSums, kVectors, PlaneByPlane<1>, kDots> sink(levels, levels, no_seeds, tile.bytes[0]);
    decode_section<kBits, kVectors, Rest::kNone>(at.rows, section.rows, run.prefetch, sink);
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) {
        float* const to = at.totals + q * run.stride + v * Vec::kLanes;
        Vec::Word products = sink.sum(sink.a, v, q);
        Vec::Float sum = Vec::load_float(to);
        if constexpr (kWithLevels) {
          const Vec::Word of_levels = sink.sum(sink.a, v, kQueries);
          if constexpr (!kUnsignedWeights) products = Vec::add_words(products, Vec::template shift<-7>(of_levels));
          sum = Vec::fma(Vec::to_float(of_levels), Vec::splat_float(tile.lowest[q]), sum);
        }
        sum = Vec::fma(Vec::to_float(products), Vec::splat_float(tile.factors[q]), sum);
        Vec::store_float(to, sum);
      }
    }
  }
}

template <int kBits, std::size_t kQueries>
void byte_sums(const Section& section, const ValueRun& run) {
  const LevelGrid& grid = *section.grid;
  const float centre = grid.centre;
  const Vec::Lookup<kBits> levels(kUnsignedWeights ? grid.centred : grid.high);
  // While the rows of a tile are summed the weights of the next are rounded, and the ranges of those after it are
  // found: long chains side by side, beside wide work.
  TileWeights<kQueries> weights[2];
  ByteTile<kQueries> tiles[2];
  for (std::size_t i = 0; i < std::min<std::size_t>(run.count, 2); ++i) weights[i].load(section, run, i, centre);
  if (run.count > 0) tiles[0].round(grid, weights[0]);
  for (std::size_t i = 0; i < run.count; ++i) {
    const ByteTile<kQueries>& tile = tiles[i % 2];
    if (i + 2 < run.count) weights[i % 2].load(section, run, i + 2, centre);
    if (i + 1 < run.count) tiles[(i + 1) % 2].round(grid, weights[(i + 1) % 2]);
    if (!tile.any) continue;
    if (tile.needs_levels) {
      byte_sums_of_tile<kBits, kQueries, true>(section, run, i, levels, tile);
    } else if constexpr (kUnsignedWeights) {
      byte_sums_of_tile<kBits, kQueries, false>(section, run, i, levels, tile);
    }
  }
}

template <int kBits, std::size_t kLevelPlanes, std::size_t kQueries>
void integer_sums(const Section& section, const ValueRun& run) {
  constexpr std::size_t kVectors = kVectorsFor<2 * kQueries>;
  const LevelGrid& grid = *section.grid;
  const Vec::Lookup<kBits> high(grid.high);
  const Vec::Lookup<kBits> low(grid.low);
  TileWeights<kQueries> weights;
  alignas(64) std::byte planes[kQueries][2][kTokens];
  QueryHeader header{};
  for (std::size_t i = 0; i < run.count; ++i) {
    weights.load(section, run, i, grid.centre);
    if (!weights.any) continue;
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      const float magnitude = weights.magnitude(q);
      QueryPlanes<2, kBaseBits> split(magnitude);
      for (std::size_t t = 0; t < kTokens; t += Vec::kLanes) {
        split.split(Vec::load_float(weights.scaled[q] + t), planes[q][0] + t, planes[q][1] + t);
      }
      split.finish(grid, magnitude, 1.0F, header, q);
    }
    for (std::size_t lane = 0; lane < run.lane_tiles * kLanes; lane += Vec::kLanes * kVectors) {
      const LaneRows at(section, run, i, lane);
      IntegerSink<kBits, kLevelPlanes, 2, kQueries, kVectors, PlaneByPlane<2>> sink(high, low, header, planes[0][0]);
      decode_section<kBits, kVectors, Rest::kNone>(at.rows, section.rows, run.prefetch, sink);
      add_totals<kQueries, kVectors>(sink, header, at.totals, run.stride);
    }
  }
}

template <int kBits, std::size_t kQueries>
void exact_sums(const Section& section, const ValueRun& run) {
  const Vec::FloatLookup<kBits> levels(section.levels);
  TileWeights<kQueries> weights;
  const QueryHeader header{};
  for (std::size_t i = 0; i < run.count; ++i) {
    weights.load(section, run, i, 0);
    if (!weights.any) continue;
    for (std::size_t lane = 0; lane < run.lane_tiles * kLanes; lane += Vec::kLanes) {
      const LaneRows at(section, run, i, lane);
      ExactSink<kBits, kQueries, 1, QueryByQuery<4>> sink(levels,
                                                          reinterpret_cast<const std::byte*>(weights.scaled[0]));
      decode_section<kBits, 1, Rest::kNone>(at.rows, section.rows, run.prefetch, sink);
      add_totals<kQueries, 1>(sink, header, at.totals, run.stride);
    }
  }
}

template <std::size_t kQueries>
void bfloat16_sums(const Section& section, const ValueRun& run) {
  constexpr std::size_t kVectors = kVectorsFor<2 * kQueries>;
  TileWeights<kQueries> weights;
  const QueryHeader header{};
  for (std::size_t i = 0; i < run.count; ++i) {
    weights.load(section, run, i, 0);
    if (!weights.any) continue;
    for (std::size_t lane = 0; lane < run.lane_tiles * kLanes; lane += Vec::kLanes * kVectors) {
      const LaneRows at(section, run, i, lane);
      Bfloat16Sink<kQueries, kVectors, QueryByQuery<2>> sink(reinterpret_cast<const std::byte*>(weights.scaled[0]));
      for (std::size_t r = 0; r < section.rows; ++r) {
        prefetch_row<kVectors>(at.rows + r * kRowBytes, run.prefetch);
        sink.row(at.rows + r * kRowBytes);
      }
      add_totals<kQueries, kVectors>(sink, header, at.totals, run.stride);
    }
  }
}

/// Width 0: every coordinate is the one level.
template <std::size_t kQueries>
void constant_sums(const Section& section, const ValueRun& run) {
  TileWeights<kQueries> weights;
  for (std::size_t i = 0; i < run.count; ++i) weights.load(section, run, i, section.levels[0]);
}

template <std::size_t kQueries>
SumFn* summer_for(const Section& section, bool exact) {
  if (section.bits == 0) return constant_sums<kQueries>;
  if (section.bits == 16) return bfloat16_sums<kQueries>;
  if constexpr (kQueries == 1) {
    if (exact) return for_width<1, 8>(section.bits, []<int kBits>() -> SumFn* { return exact_sums<kBits, kQueries>; });
  }
  if (section.query_planes == 1) {
    return for_width<1, 4>(section.bits, []<int kBits>() -> SumFn* { return byte_sums<kBits, kQueries>; });
  }
  if (section.grid->planes == 2) {
    return for_width<6, 8>(section.bits, []<int kBits>() -> SumFn* { return integer_sums<kBits, 2, kQueries>; });
  }
  return for_width<1, 8>(section.bits,
                         []<int kBits>() -> SumFn* { return integer_sums < kBits, kBits == 8 ? 0 : 1, kQueries > ; });
}

template <class V>
SumFn* find_summer_in(const Section& section, bool exact, std::size_t queries) {
  if (queries == 1) return summer_for<1>(section, exact);
  if constexpr (V::kBatches) {
    if (exact && section.bits != 16) return nullptr;
    if (queries == 4) return summer_for<4>(section, false);
    if constexpr (V::kRegisters >= 32) {
      if (queries == 8) return summer_for<8>(section, false);
    }
  }
  return nullptr;
}

inline SumFn* find_summer(const Section& section, bool exact, std::size_t queries) {
  return find_summer_in<Vec>(section, exact, queries);
}

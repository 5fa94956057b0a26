// Scores of up to eight queries against the rows of a section, tile by tile. Included inside each target's namespace
// after its vocabulary Vec (see vec_scalar-inl.h for what that holds); no include guard.
//
// A unit is a number of rows after which the pattern of groups starts again, with enough groups for several chains.
// decode_unit hands every group of four coordinates to a sink as sink.template group<G, kShift>(x): bits kShift ..
// kShift + B - 1 of every byte of x[v] are the codes of group G of the unit for vector v; higher bits are whatever
// follows.

template <std::size_t kVectors>
struct Words {
  Vec::Word at[kVectors];
};

template <std::size_t kVectors>
ORTHANT_INLINE Words<kVectors> load_row(const std::byte* row) {
  Words<kVectors> x;
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) x.at[v] = Vec::keep(Vec::load(row + 4 * Vec::kLanes * v));
  return x;
}

template <int kShift, std::size_t kVectors>
ORTHANT_INLINE Words<kVectors> shifted(const Words<kVectors>& x) {
  Words<kVectors> y;
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) y.at[v] = Vec::template shift_right<kShift>(x.at[v]);
  return y;
}

/// The low kLow bits of every byte of x, with bit kBit of the same byte of `top` above them.
template <int kLow, std::size_t kBit, std::size_t kVectors>
ORTHANT_INLINE Words<kVectors> with_top_bit(const Words<kVectors>& x, const Words<kVectors>& top) {
  constexpr std::uint32_t kMask = ((1U << kLow) - 1) * 0x01010101U;
  Words<kVectors> y;
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    y.at[v] = Vec::select(kMask, x.at[v], Vec::template shift<static_cast<int>(kBit) - kLow>(top.at[v]));
  }
  return y;
}

/// The field that lives in bits 6..7 of three rows.
template <std::size_t kVectors>
ORTHANT_INLINE Words<kVectors> fourth_field(const Words<kVectors>& a, const Words<kVectors>& b,
                                            const Words<kVectors>& c) {
  Words<kVectors> y;
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    const Vec::Word low =
        Vec::select(0x03030303U, Vec::template shift_right<6>(a.at[v]), Vec::template shift_right<4>(b.at[v]));
    y.at[v] = Vec::select(0x0F0F0F0FU, low, Vec::template shift_right<2>(c.at[v]));
  }
  return y;
}

template <int kBits>
struct Unit;

template <>
struct Unit<1> {
  static constexpr std::size_t kRows = 1;
  static constexpr std::size_t kGroups = 8;
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    const Words<kVectors> x = load_row<kVectors>(rows);
    sink.template group<0, 0>(x);
    sink.template group<1, 1>(x);
    sink.template group<2, 2>(x);
    sink.template group<3, 3>(x);
    sink.template group<4, 4>(x);
    sink.template group<5, 5>(x);
    sink.template group<6, 6>(x);
    sink.template group<7, 7>(x);
  }
};

template <>
struct Unit<2> {
  static constexpr std::size_t kRows = 1;
  static constexpr std::size_t kGroups = 4;
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    const Words<kVectors> x = load_row<kVectors>(rows);
    sink.template group<0, 0>(x);
    sink.template group<1, 2>(x);
    sink.template group<2, 4>(x);
    sink.template group<3, 6>(x);
  }
};

template <>
struct Unit<4> {
  static constexpr std::size_t kRows = 2;
  static constexpr std::size_t kGroups = 4;
  template <std::size_t kRow, std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void nibbles(const std::byte* rows, Sink& sink) {
    const Words<kVectors> x = load_row<kVectors>(rows + kRow * kRowBytes);
    sink.template group<2 * kRow, 0>(x);
    sink.template group<2 * kRow + 1, 4>(x);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    nibbles<0, kVectors>(rows, sink);
    nibbles<1, kVectors>(rows, sink);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t, Sink& sink) {
    nibbles<0, kVectors>(rows, sink);
  }
};

template <>
struct Unit<8> {
  static constexpr std::size_t kRows = 4;
  static constexpr std::size_t kGroups = 4;
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    decode_tail<kVectors>(rows, 3, sink);
    sink.template group<3, 0>(load_row<kVectors>(rows + 3 * kRowBytes));
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t count, Sink& sink) {
    sink.template group<0, 0>(load_row<kVectors>(rows));
    if (count > 1) sink.template group<1, 0>(load_row<kVectors>(rows + kRowBytes));
    if (count > 2) sink.template group<2, 0>(load_row<kVectors>(rows + 2 * kRowBytes));
  }
};

template <>
struct Unit<3> {
  static constexpr std::size_t kRows = 3;
  static constexpr std::size_t kGroups = 8;
  template <std::size_t kRow, std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void field(const Words<kVectors>& x, Sink& sink) {
    sink.template group<2 * kRow, 0>(x);
    sink.template group<2 * kRow + 1, 3>(x);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    const Words<kVectors> a = load_row<kVectors>(rows);
    field<0>(a, sink);
    const Words<kVectors> b = load_row<kVectors>(rows + kRowBytes);
    field<1>(b, sink);
    const Words<kVectors> c = load_row<kVectors>(rows + 2 * kRowBytes);
    field<2>(c, sink);
    field<3>(fourth_field(a, b, c), sink);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t count, Sink& sink) {
    field<0>(load_row<kVectors>(rows), sink);
    if (count == 2) field<1>(load_row<kVectors>(rows + kRowBytes), sink);
  }
};

template <>
struct Unit<6> {
  static constexpr std::size_t kRows = 3;
  static constexpr std::size_t kGroups = 4;
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    const Words<kVectors> a = load_row<kVectors>(rows);
    sink.template group<0, 0>(a);
    const Words<kVectors> b = load_row<kVectors>(rows + kRowBytes);
    sink.template group<1, 0>(b);
    const Words<kVectors> c = load_row<kVectors>(rows + 2 * kRowBytes);
    sink.template group<2, 0>(c);
    sink.template group<3, 0>(fourth_field(a, b, c));
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t count, Sink& sink) {
    sink.template group<0, 0>(load_row<kVectors>(rows));
    if (count == 2) sink.template group<1, 0>(load_row<kVectors>(rows + kRowBytes));
  }
};

template <>
struct Unit<5> {
  static constexpr std::size_t kRows = 5;
  static constexpr std::size_t kGroups = 8;
  template <std::size_t kRow, std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void nibbles(const std::byte* rows, const Words<kVectors>& top, Sink& sink) {
    const Words<kVectors> x = load_row<kVectors>(rows + (1 + kRow) * kRowBytes);
    sink.template group<2 * kRow, 0>(with_top_bit<4, 2 * kRow>(x, top));
    sink.template group<2 * kRow + 1, 0>(with_top_bit<4, 2 * kRow + 1>(shifted<4>(x), top));
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    decode_tail<kVectors>(rows, kRows, sink);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t count, Sink& sink) {
    const Words<kVectors> top = load_row<kVectors>(rows);
    nibbles<0>(rows, top, sink);
    if (count > 2) nibbles<1>(rows, top, sink);
    if (count > 3) nibbles<2>(rows, top, sink);
    if (count > 4) nibbles<3>(rows, top, sink);
  }
};

template <>
struct Unit<7> {
  static constexpr std::size_t kRows = 7;
  static constexpr std::size_t kGroups = 8;
  /// Groups 4 * kHalf .. of the block, in up to three rows.
  template <std::size_t kHalf, std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void half(const std::byte* rows, std::size_t count, const Words<kVectors>& top, Sink& sink) {
    constexpr std::size_t kFirst = 4 * kHalf;
    const Words<kVectors> a = load_row<kVectors>(rows);
    sink.template group<kFirst, 0>(with_top_bit<6, kFirst>(a, top));
    if (count < 2) return;
    const Words<kVectors> b = load_row<kVectors>(rows + kRowBytes);
    sink.template group<kFirst + 1, 0>(with_top_bit<6, kFirst + 1>(b, top));
    if (count < 3) return;
    const Words<kVectors> c = load_row<kVectors>(rows + 2 * kRowBytes);
    sink.template group<kFirst + 2, 0>(with_top_bit<6, kFirst + 2>(c, top));
    sink.template group<kFirst + 3, 0>(with_top_bit<6, kFirst + 3>(fourth_field(a, b, c), top));
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode(const std::byte* rows, Sink& sink) {
    decode_tail<kVectors>(rows, kRows, sink);
  }
  template <std::size_t kVectors, class Sink>
  static ORTHANT_INLINE void decode_tail(const std::byte* rows, std::size_t count, Sink& sink) {
    const Words<kVectors> top = load_row<kVectors>(rows);
    half<0>(rows + kRowBytes, count - 1, top, sink);
    if (count > 4) half<1>(rows + 4 * kRowBytes, count - 4, top, sink);
  }
};

/// Fetches the kVectors vectors of a row that lies `ahead` bytes further on, if any.
template <std::size_t kVectors>
ORTHANT_INLINE void prefetch_row(const std::byte* row, std::size_t ahead) {
  if (ahead == 0) return;
  ORTHANT_UNROLL
  for (std::size_t line = 0; line < 4 * Vec::kLanes * kVectors; line += 64) Vec::prefetch(row + line, ahead);
}

/// Rows of a section, some after its last whole unit or none. Where none can be the compiler keeps the sums of the loop
/// in their registers, instead of copying each in every turn: a tenth of the time of 3 and 4 bits, one query.
enum class Rest { kSome, kNone };

/// Rows fetched ahead, if a run says so, or never: 8 bits of one query in cache take a twentieth less without the
/// question.
enum class Fetch { kAhead, kNever };

/// The same of `count` rows.
template <std::size_t kVectors, Fetch kFetch>
ORTHANT_INLINE void prefetch_rows(const std::byte* rows, std::size_t count, std::size_t ahead) {
  if constexpr (kFetch == Fetch::kNever) return;
  ORTHANT_UNROLL
  for (std::size_t i = 0; i < count; ++i) prefetch_row<kVectors>(rows + i * kRowBytes, ahead);
}

/// Feeds all groups of a section, for the lanes of kVectors vectors, to the sink.
template <int kBits, std::size_t kVectors, Rest kRest = Rest::kSome, Fetch kFetch = Fetch::kAhead, class Sink>
ORTHANT_INLINE void decode_section(const std::byte* rows, std::size_t count, std::size_t ahead, Sink& sink) {
  using U = Unit<kBits>;
  std::size_t r = 0;
  for (; r + U::kRows <= count; r += U::kRows) {
    const std::byte* at = rows + r * kRowBytes;
    prefetch_rows<kVectors, kFetch>(at, U::kRows, ahead);
    U::template decode<kVectors>(at, sink);
    sink.next(U::kGroups);
  }
  if constexpr (U::kRows > 1 && kRest == Rest::kSome) {
    if (r < count) U::template decode_tail<kVectors>(rows + r * kRowBytes, count - r, sink);
  }
}

/// Where word (group, word of the group, query) of prepared queries lies: queries side by side, for rows of any length.
template <std::size_t kQueries, std::size_t kWords>
struct SideBySide {
  static constexpr std::size_t kGroupBytes = 4 * kWords * kQueries;
  static constexpr std::size_t offset(std::size_t group, std::size_t word, std::size_t query) {
    return group * kGroupBytes + 4 * (word * kQueries + query);
  }
};

/// Vectors of lanes worked on together, for so many sums a vector: as many as leave the registers for levels and
/// tables.
template <std::size_t kSums>
inline constexpr std::size_t kVectorsFor = (Vec::kRegisters >= 32 ? kSums <= 4 : kSums == 1)   ? 4
                                           : (Vec::kRegisters >= 32 ? kSums <= 9 : kSums <= 4) ? 2
                                                                                               : 1;

/// Chains of each of so many sums.
template <std::size_t kSums>
inline constexpr std::size_t kChainsFor = std::min<std::size_t>(4, kSums >= Vec::kDotsInFlight
                                                                       ? 1
                                                                       : Vec::kDotsInFlight / kSums);

/// How an IntegerSink multiplies.
///   kSingle           levels are the unsigned factors, one group after the other
///   kUnsignedQueries  query bytes are, and the levels signed
///   kPaired           as kSingle, but the products of two groups are added in 16 bits, which limits_quads lets them
///   fit
enum class Dots { kSingle, kUnsignedQueries, kPaired };

/// Integer sums of kQueries queries: one plane of levels (kLevelPlanes = 0: the codes themselves) or two, one plane of
/// query bytes or two. With both in two planes the product of the low planes is left out; the seeds carry its mean.
/// Groups go in turn to kChains sums each: a dot product takes several cycles, and the next one in its chain waits.
template <int kBits, std::size_t kLevelPlanes, std::size_t kQueryPlanes, std::size_t kQueries, std::size_t kVectors,
          class Place = SideBySide<kQueries, kQueryPlanes>, Dots kDots = Dots::kSingle>
struct IntegerSink {
  static constexpr bool kTwoSums = kQueryPlanes == 2;
  static constexpr std::size_t kChains = kChainsFor<kQueries * kQueryPlanes * kVectors>;
  const Vec::Lookup<kBits>& high;
  const Vec::Lookup<kBits>& low;
  const std::byte* query;
  Words<kVectors> even;  // levels of the group before, when groups are paired
  Vec::Word a[kChains][kVectors][kQueries];
  Vec::Word b[kChains][kVectors][kQueries];

  ORTHANT_INLINE IntegerSink(const Vec::Lookup<kBits>& high_plane, const Vec::Lookup<kBits>& low_plane,
                             const QueryHeader& header, const std::byte* data)
      : high(high_plane), low(low_plane), query(data) {
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        a[0][v][q] = Vec::splat(header.seed_a[q]);
        if constexpr (kTwoSums) b[0][v][q] = Vec::splat(header.seed_b[q]);
        ORTHANT_UNROLL
        for (std::size_t c = 1; c < kChains; ++c) a[c][v][q] = b[c][v][q] = Vec::splat(0);
      }
    }
  }

  ORTHANT_INLINE void next(std::size_t groups) { query += groups * Place::kGroupBytes; }

  template <std::size_t kGroup, int kShift>
  ORTHANT_INLINE void group(const Words<kVectors>& x) {
    constexpr std::size_t kChain = kGroup / (kDots == Dots::kPaired ? 2 : 1) % kChains;
    Words<kVectors> h;
    Words<kVectors> l;
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      if constexpr (kLevelPlanes == 0) {
        h.at[v] = x.at[v];
      } else {
        h.at[v] = high.template at<kShift>(x.at[v]);
      }
      if constexpr (kLevelPlanes == 2) l.at[v] = low.template at<kShift>(x.at[v]);
    }
    if constexpr (kDots == Dots::kPaired) return pair<Vec, kGroup, kChain>(h);
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      const Vec::Word qh = Vec::broadcast(query + Place::offset(kGroup, 0, q));
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        a[kChain][v][q] = dot<kLevelPlanes == 0>(a[kChain][v][q], h.at[v], qh);
      }
      if constexpr (kQueryPlanes == 2) {
        const Vec::Word ql = Vec::broadcast(query + Place::offset(kGroup, 1, q));
        ORTHANT_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          b[kChain][v][q] = dot<kLevelPlanes == 0>(b[kChain][v][q], h.at[v], ql);
          if constexpr (kLevelPlanes == 2) b[kChain][v][q] = Vec::dot(b[kChain][v][q], l.at[v], qh);
        }
      }
    }
  }

  /// Every unit and every tail has an even number of groups.
  template <class V, std::size_t kGroup, std::size_t kChain>
  ORTHANT_INLINE void pair(const Words<kVectors>& h) {
    if constexpr (kGroup % 2 == 0) {
      even = h;
    } else {
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) {
        const Vec::Word of_even = Vec::broadcast(query + Place::offset(kGroup - 1, 0, q));
        const Vec::Word of_odd = Vec::broadcast(query + Place::offset(kGroup, 0, q));
        ORTHANT_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          a[kChain][v][q] = V::dot_pair(a[kChain][v][q], even.at[v], of_even, h.at[v], of_odd);
        }
      }
    }
  }

  template <bool kFullBytes>
  static ORTHANT_INLINE Vec::Word dot(Vec::Word sum, Vec::Word levels, Vec::Word queries) {
    if constexpr (kDots == Dots::kUnsignedQueries) {
      return Vec::dot(sum, queries, levels);
    } else if constexpr (kFullBytes) {
      return Vec::dot_full(sum, levels, queries);
    } else {
      return Vec::dot(sum, levels, queries);
    }
  }

  static ORTHANT_INLINE Vec::Word sum(const Vec::Word (&sums)[kChains][kVectors][kQueries], std::size_t v,
                                      std::size_t q) {
    Vec::Word sum = sums[0][v][q];
    ORTHANT_UNROLL
    for (std::size_t c = 1; c < kChains; ++c) sum = Vec::add_words(sum, sums[c][v][q]);
    return sum;
  }
  static ORTHANT_INLINE Vec::Float total(const Vec::Word (&sums)[kChains][kVectors][kQueries], std::size_t v,
                                         std::size_t q) {
    return Vec::to_float(sum(sums, v, q));
  }

  ORTHANT_INLINE Vec::Float value(std::size_t v, std::size_t q, const QueryHeader& header) const {
    Vec::Float t = Vec::splat_float(header.constant[q]);
    if constexpr (kTwoSums) t = Vec::fma(total(b, v, q), Vec::splat_float(header.factor_b[q]), t);
    return Vec::fma(total(a, v, q), Vec::splat_float(header.factor_a[q]), t);
  }
};

/// Float sums, one for each place j of a coordinate in its group, each a chain of fused multiply-adds in coordinate
/// order: the same bits on every target.
template <int kBits, std::size_t kQueries, std::size_t kVectors, class Place = SideBySide<kQueries, 4>>
struct ExactSink {
  const Vec::FloatLookup<kBits>& levels;
  const std::byte* query;
  Vec::Float sums[4][kVectors][kQueries];

  ORTHANT_INLINE ExactSink(const Vec::FloatLookup<kBits>& table, const std::byte* data) : levels(table), query(data) {
    ORTHANT_UNROLL
    for (std::size_t j = 0; j < 4; ++j) {
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        ORTHANT_UNROLL
        for (std::size_t q = 0; q < kQueries; ++q) sums[j][v][q] = Vec::splat_float(0);
      }
    }
  }

  ORTHANT_INLINE void next(std::size_t groups) { query += groups * Place::kGroupBytes; }

  template <std::size_t kGroup, int kShift>
  ORTHANT_INLINE void group(const Words<kVectors>& x) {
    coordinate<kGroup, kShift, 0>(x);
    coordinate<kGroup, kShift, 1>(x);
    coordinate<kGroup, kShift, 2>(x);
    coordinate<kGroup, kShift, 3>(x);
  }

  template <std::size_t kGroup, int kShift, std::size_t kPlace>
  ORTHANT_INLINE void coordinate(const Words<kVectors>& x) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vec::Float y = levels.template at<8 * static_cast<int>(kPlace) + kShift>(x.at[v]);
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) {
        sums[kPlace][v][q] =
            Vec::fma(y, Vec::broadcast_float(query + Place::offset(kGroup, kPlace, q)), sums[kPlace][v][q]);
      }
    }
  }

  ORTHANT_INLINE Vec::Float value(std::size_t v, std::size_t q, const QueryHeader& header) const {
    const Vec::Float sum = Vec::add(Vec::add(sums[0][v][q], sums[1][v][q]), Vec::add(sums[2][v][q], sums[3][v][q]));
    return Vec::add(sum, Vec::splat_float(header.constant[q]));
  }
};

/// bfloat16 rows, two coordinates in a word, one sum for each: chains of fused multiply-adds in row order, the same
/// bits on every target.
template <std::size_t kQueries, std::size_t kVectors, class Place = SideBySide<kQueries, 2>>
struct Bfloat16Sink {
  const std::byte* query;
  Vec::Float sums[2][kVectors][kQueries];

  ORTHANT_INLINE explicit Bfloat16Sink(const std::byte* data) : query(data) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) sums[0][v][q] = sums[1][v][q] = Vec::splat_float(0);
    }
  }

  ORTHANT_INLINE void row(const std::byte* words) {
    const Words<kVectors> x = load_row<kVectors>(words);
    Vec::Float first[kVectors];
    Vec::Float second[kVectors];
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      first[v] = Vec::as_float(Vec::template shift<-16>(x.at[v]));
      second[v] = Vec::as_float(Vec::select(0x0000FFFFU, Vec::splat(0), x.at[v]));
    }
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      const Vec::Float q_first = Vec::broadcast_float(query + Place::offset(0, 0, q));
      const Vec::Float q_second = Vec::broadcast_float(query + Place::offset(0, 1, q));
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[0][v][q] = Vec::fma(first[v], q_first, sums[0][v][q]);
        sums[1][v][q] = Vec::fma(second[v], q_second, sums[1][v][q]);
      }
    }
    query += Place::kGroupBytes;
  }

  ORTHANT_INLINE Vec::Float value(std::size_t v, std::size_t q, const QueryHeader&) const {
    return Vec::add(sums[0][v][q], sums[1][v][q]);
  }
};

/// Whole nibbles (four 1-bit or two 2-bit codes) looked up in tables of signed partial scores: for each row and query
/// 16 entries for the low nibble of each of the four bytes, then 16 for each high nibble. The entries of kTogether rows
/// are added as bytes, which their size allows (table_top).
template <class V, int kBits, std::size_t kQueries, std::size_t kVectors>
struct TableSink {
  static constexpr std::size_t kTogether = kBits == 1 ? 2 : 1;
  const std::byte* tables;
  Vec::Word a[kVectors][kQueries];

  ORTHANT_INLINE explicit TableSink(const std::byte* data) : tables(data) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) a[v][q] = Vec::splat(0);
    }
  }

  template <std::size_t kRows>
  ORTHANT_INLINE void rows(const std::byte* words) {
    Words<kVectors> low[kRows];
    Words<kVectors> high[kRows];
    ORTHANT_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Words<kVectors> x = load_row<kVectors>(words + r * kRowBytes);
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        low[r].at[v] = V::nibble_in_its_table(x.at[v]);
        high[r].at[v] = V::nibble_in_its_table(Vec::template shift_right<4>(x.at[v]));
      }
    }
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      const std::byte* const table = tables + 128 * q;
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        Vec::Word sum =
            V::add_bytes(V::table_entries(table, low[0].at[v]), V::table_entries(table + 64, high[0].at[v]));
        if constexpr (kRows == 2) {
          const std::byte* const second = table + 128 * kQueries;
          sum = V::add_bytes(
              sum, V::add_bytes(V::table_entries(second, low[1].at[v]), V::table_entries(second + 64, high[1].at[v])));
        }
        a[v][q] = V::add_four(a[v][q], sum);
      }
    }
    tables += 128 * kQueries * kRows;
  }

  ORTHANT_INLINE Vec::Float value(std::size_t v, std::size_t q, const QueryHeader& header) const {
    return Vec::fma(Vec::to_float(a[v][q]), Vec::splat_float(header.factor_a[q]), Vec::splat_float(header.constant[q]));
  }
};

/// The half-precision factors of 64 lanes, kept `place` bytes into a tile: those of vector v of the lanes from `lane`
/// on. Fetches what comes `ahead` bytes later: rows alone would leave gaps, lines that a stream waits for.
template <Fetch kFetch>
ORTHANT_INLINE Vec::Float load_factors(const std::byte* tile, std::size_t place, std::size_t lane, std::size_t v,
                                       std::size_t ahead) {
  const std::byte* const at = tile + place + 2 * (lane + v * Vec::kLanes);
  if (kFetch == Fetch::kAhead && 2 * v * Vec::kLanes % 64 == 0) Vec::prefetch(at, ahead);
  return Vec::load_half(at);
}

/// Applies scales and offsets to the sums of a sink, of the lanes from first_lane on, and writes them.
template <std::size_t kQueries, std::size_t kVectors, Fetch kFetch = Fetch::kAhead, class Sink>
ORTHANT_INLINE void store_scores(const Section& section, const TileLoop& at, const TileRun& run, std::size_t first_lane,
                                 const Sink& sink) {
  const QueryHeader& header = at.header();
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    float* const out = at.out + first_lane + v * Vec::kLanes;
    Vec::Float scale = Vec::splat_float(1);
    if (section.scales != kNone) scale = load_factors<kFetch>(at.tile, section.scales, first_lane, v, run.prefetch);
    Vec::Float scores[kQueries];
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) {
      scores[q] = Vec::fma(sink.value(v, q, header), scale, Vec::splat_float(header.term[q]));
    }
    if (section.offsets != kNone) {
      const Vec::Float offset = load_factors<kFetch>(at.tile, section.offsets, first_lane, v, run.prefetch);
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) {
        scores[q] = Vec::fma(Vec::splat_float(header.sum[q]), offset, scores[q]);
      }
    }
    if (run.accumulate) {
      ORTHANT_UNROLL
      for (std::size_t q = 0; q < kQueries; ++q) scores[q] = Vec::add(scores[q], Vec::load_float(out + q * run.stride));
    }
    ORTHANT_UNROLL
    for (std::size_t q = 0; q < kQueries; ++q) Vec::store_float(out + q * run.stride, scores[q]);
  }
}

template <int kBits, std::size_t kLevelPlanes, std::size_t kQueryPlanes, std::size_t kQueries, Rest kRest, Fetch kFetch>
ORTHANT_INLINE void integer_scores(const Section& section, const std::byte* prepared, const TileRun& run) {
  constexpr std::size_t kVectors = kVectorsFor<kQueries * kQueryPlanes>;
  constexpr bool kPaired = Vec::kArithmetic == Arithmetic::kNarrow && kLevelPlanes == 1 && kQueryPlanes == 1;
  constexpr Dots kDots = kPaired ? Dots::kPaired : Dots::kSingle;
  const Vec::Lookup<kBits> high(section.grid->high);
  const Vec::Lookup<kBits> low(section.grid->low);
  for (TileLoop at(section, prepared, run); at.any(); at.advance()) {
    const QueryHeader& header = at.header();
    for (std::size_t lane = 0; lane < kLanes; lane += Vec::kLanes * kVectors) {
      IntegerSink<kBits, kLevelPlanes, kQueryPlanes, kQueries, kVectors, SideBySide<kQueries, kQueryPlanes>, kDots>
          sink(high, low, header, at.queries());
      decode_section<kBits, kVectors, kRest, kFetch>(at.tile + section.offset + 4 * lane, section.rows, run.prefetch,
                                                     sink);
      store_scores<kQueries, kVectors, kFetch>(section, at, run, lane, sink);
    }
  }
}

template <int kBits, std::size_t kQueries>
ORTHANT_INLINE void exact_scores(const Section& section, const std::byte* prepared, const TileRun& run) {
  const Vec::FloatLookup<kBits> levels(section.levels);
  for (TileLoop at(section, prepared, run); at.any(); at.advance()) {
    for (std::size_t lane = 0; lane < kLanes; lane += Vec::kLanes) {
      ExactSink<kBits, kQueries, 1> sink(levels, at.queries());
      decode_section<kBits, 1>(at.tile + section.offset + 4 * lane, section.rows, run.prefetch, sink);
      store_scores<kQueries, 1>(section, at, run, lane, sink);
    }
  }
}

template <std::size_t kQueries, std::size_t kVectors>
ORTHANT_INLINE void bfloat16_scores(const Section& section, const std::byte* prepared, const TileRun& run) {
  for (TileLoop at(section, prepared, run); at.any(); at.advance()) {
    for (std::size_t lane = 0; lane < kLanes; lane += Vec::kLanes * kVectors) {
      Bfloat16Sink<kQueries, kVectors> sink(at.queries());
      const std::byte* row = at.tile + section.offset + 4 * lane;
      for (std::size_t r = 0; r < section.rows; ++r, row += kRowBytes) {
        prefetch_row<kVectors>(row, run.prefetch);
        sink.row(row);
      }
      store_scores<kQueries, kVectors>(section, at, run, lane, sink);
    }
  }
}

template <int kBits, std::size_t kQueries, std::size_t kVectors, Fetch kFetch>
ORTHANT_INLINE void table_scores(const Section& section, const std::byte* prepared, const TileRun& run) {
  using Sink = TableSink<Vec, kBits, kQueries, kVectors>;
  for (TileLoop at(section, prepared, run); at.any(); at.advance()) {
    for (std::size_t lane = 0; lane < kLanes; lane += Vec::kLanes * kVectors) {
      Sink sink(at.queries());
      const std::byte* const rows = at.tile + section.offset + 4 * lane;
      std::size_t r = 0;
      for (; r + Sink::kTogether <= section.rows; r += Sink::kTogether) {
        prefetch_rows<kVectors, kFetch>(rows + r * kRowBytes, Sink::kTogether, run.prefetch);
        sink.template rows<Sink::kTogether>(rows + r * kRowBytes);
      }
      if (r < section.rows) {
        prefetch_rows<kVectors, kFetch>(rows + r * kRowBytes, 1, run.prefetch);
        sink.template rows<1>(rows + r * kRowBytes);
      }
      store_scores<kQueries, kVectors, kFetch>(section, at, run, lane, sink);
    }
  }
}

template <int kBits, std::size_t kLevelPlanes, std::size_t kQueryPlanes, std::size_t kQueries>
void integer_entry(const Section& section, const std::byte* prepared, const TileRun& run) {
  if constexpr (kQueries == 1) {
    if (section.rows % Unit<kBits>::kRows == 0) {
      if (run.prefetch == 0) {
        return integer_scores<kBits, kLevelPlanes, kQueryPlanes, 1, Rest::kNone, Fetch::kNever>(section, prepared, run);
      }
      return integer_scores<kBits, kLevelPlanes, kQueryPlanes, 1, Rest::kNone, Fetch::kAhead>(section, prepared, run);
    }
  }
  integer_scores<kBits, kLevelPlanes, kQueryPlanes, kQueries, Rest::kSome, Fetch::kAhead>(section, prepared, run);
}

template <int kBits, std::size_t kQueries>
void exact_entry(const Section& section, const std::byte* prepared, const TileRun& run) {
  exact_scores<kBits, kQueries>(section, prepared, run);
}

template <std::size_t kQueries>
void bfloat16_entry(const Section& section, const std::byte* prepared, const TileRun& run) {
  bfloat16_scores<kQueries, kVectorsFor<2 * kQueries>>(section, prepared, run);
}

template <int kBits, std::size_t kQueries>
void table_entry(const Section& section, const std::byte* prepared, const TileRun& run) {
  constexpr std::size_t kVectors = kQueries == 1 && Vec::kRegisters >= 32 ? 4 : 2;
  if (run.prefetch == 0) return table_scores<kBits, kQueries, kVectors, Fetch::kNever>(section, prepared, run);
  table_scores<kBits, kQueries, kVectors, Fetch::kAhead>(section, prepared, run);
}

/// entry<b>() for the width b of a section, which lies between kFirst and kLast.
template <int kFirst, int kLast, class Entry>
auto for_width(int bits, Entry entry) {
  if constexpr (kFirst == kLast) {
    return entry.template operator()<kLast>();
  } else {
    return bits == kFirst ? entry.template operator()<kFirst>() : for_width<kFirst + 1, kLast>(bits, entry);
  }
}

/// Levels in two planes, or one; queries in two planes.
template <std::size_t kQueries>
ScoreFn* word_query_scorer(const Section& section) {
  if (section.grid->planes == 2) {
    return for_width<6, 8>(section.bits, []<int kBits>() -> ScoreFn* { return integer_entry<kBits, 2, 2, kQueries>; });
  }
  return for_width<1, 8>(
      section.bits, []<int kBits>() -> ScoreFn* { return integer_entry < kBits, kBits == 8 ? 0 : 1, 2, kQueries > ; });
}

/// Queries in one plane: levels in one too, or at 8 bits none.
template <std::size_t kQueries>
ScoreFn* byte_query_scorer(const Section& section) {
  if constexpr (kQueries > 0 && Vec::kArithmetic == Arithmetic::kTables) {
    if (uses_tables(section, Vec::kArithmetic)) {
      return for_width<1, 2>(section.bits, []<int kBits>() -> ScoreFn* { return table_entry<kBits, kQueries>; });
    }
  }
  if (section.bits == 8) return integer_entry<8, 0, 1, kQueries>;
  return for_width<1, 5>(section.bits, []<int kBits>() -> ScoreFn* { return integer_entry<kBits, 1, 1, kQueries>; });
}

template <std::size_t kQueries>
ScoreFn* scorer_for(const Section& section, bool exact) {
  if (section.bits == 16) return bfloat16_entry<kQueries>;
  if (exact) return for_width<1, 8>(section.bits, []<int kBits>() -> ScoreFn* { return exact_entry<kBits, kQueries>; });
  return section.query_planes == 2 ? word_query_scorer<kQueries>(section) : byte_query_scorer<kQueries>(section);
}

/// Eight queries at once: where that many sums fit the registers.
template <std::size_t kQueries>
ScoreFn* scorer_for_eight(const Section& section, bool exact) {
  if (section.bits == 16) return Vec::kRegisters >= 32 ? bfloat16_entry<kQueries> : nullptr;
  if (exact || section.query_planes == 2) return nullptr;
  return byte_query_scorer<kQueries>(section);
}

template <class V>
ScoreFn* find_scorer_in(const Section& section, bool exact, std::size_t queries) {
  if (queries == 1) return scorer_for<1>(section, exact);
  if constexpr (V::kBatches) {
    if (queries == 4) return scorer_for<4>(section, exact);
    if (queries == 8) return scorer_for_eight<8>(section, exact);
  }
  return nullptr;
}

inline ScoreFn* find_scorer(const Section& section, bool exact, std::size_t queries) {
  return find_scorer_in<Vec>(section, exact, queries);
}

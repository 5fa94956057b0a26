// The vocabulary of a target, here one word at a time in plain C++: what the other vocabularies must equal.
// Included inside a namespace that defines kArithmetic first; no include guard.
struct Vec {
  static constexpr Arithmetic kArithmetic = kScalarArithmetic;
  static constexpr std::size_t kDotsInFlight = 1;  // chains of dot products that keep the processor busy
  static constexpr std::size_t kLanes = 1;         // words of a vector
  static constexpr std::size_t kRegisters = 16;    // vectors that the body may keep live
  static constexpr int kLevelBias = 0;  // what Lookup subtracts from levels, for targets whose dot wants them signed
  static constexpr int kBitsInRegisters = 2;  // of FloatLookup's tables; or so few that memory does as well
  static constexpr bool kBatches = false;     // whether batches of queries gain anything

  using Word = std::uint32_t;
  using Float = float;

  static constexpr std::size_t kHalfLanes = 2 * kLanes;  // signed 16-bit lanes of a vector
  struct Halves {
    std::int16_t at[kHalfLanes];
  };

  static Word load(const std::byte* p) {
    Word x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  static void store(std::byte* p, Word x) { std::memcpy(p, &x, sizeof(x)); }
  /// x in a register: keeps the compiler from reading it once more from where it was loaded.
  static Word keep(Word x) { return x; }
  static Word splat(std::int32_t x) { return static_cast<Word>(x); }
  /// The word at p in every lane.
  static Word broadcast(const std::byte* p) { return load(p); }
  static void prefetch(const std::byte*, std::size_t) {}

  /// Shifts of 32-bit words.
  template <int kBy>
  static Word shift_right(Word x) {
    return x >> kBy;
  }
  /// By a signed count: right when positive.
  template <int kBy>
  static Word shift(Word x) {
    return kBy >= 0 ? x >> (kBy >= 0 ? kBy : 0) : x << (kBy < 0 ? -kBy : 0);
  }
  /// Of signed words.
  template <int kBy>
  static Word shift_right_signed(Word x) {
    return static_cast<Word>(static_cast<std::int32_t>(x) >> kBy);
  }
  static Word bit_or(Word a, Word b) { return a | b; }
  /// Bits of a where the mask is set, of b elsewhere.
  static Word select(std::uint32_t mask, Word a, Word b) { return (a & mask) | (b & ~mask); }

  static int unsigned_byte(Word x, int j) { return static_cast<int>(x >> 8 * j & 0xFFU); }
  static int signed_byte(Word x, int j) { return static_cast<std::int8_t>(x >> 8 * j & 0xFFU); }

  /// sum + sum_j levels_j * queries_j over the four bytes of a word, levels unsigned, queries signed.
  static Word dot(Word sum, Word levels, Word queries) {
    auto total = static_cast<std::int32_t>(sum);
    for (int j = 0; j < 4; ++j) total += unsigned_byte(levels, j) * signed_byte(queries, j);
    return static_cast<Word>(total);
  }
  /// dot of two words after the other, for factors whose products fit the sums that limits_quads speaks of.
  static Word dot_pair(Word total, Word levels, Word queries, Word more_levels, Word more_queries) {
    return dot(dot(total, levels, queries), more_levels, more_queries);
  }
  /// The same for codes that are levels themselves: no bias subtracted yet, all eight bits in use.
  static Word dot_full(Word sum, Word levels, Word queries) { return dot(sum, levels, queries); }

  /// Bytes of x become table entries: bits kShift .. kShift + kBits - 1 of each are the index.
  template <int kBits>
  struct Lookup {
    const std::uint8_t* table;
    explicit Lookup(const std::uint8_t* entries) : table(entries) {}
    template <int kShift>
    Word at(Word x) const {
      Word y = 0;
      for (int j = 0; j < 4; ++j) {
        y |= Word{table[x >> (8 * j + kShift) & ((1U << kBits) - 1)]} << 8 * j;
      }
      return y;
    }
  };
  /// Bits kShift .. kShift + kBits - 1 of each word are the index.
  template <int kBits>
  struct FloatLookup {
    const float* table;
    explicit FloatLookup(const float* entries) : table(entries) {}
    template <int kShift>
    Float at(Word x) const {
      return table[x >> kShift & ((1U << kBits) - 1)];
    }
  };

  /// table[i] for every lane i.
  static Word gather_words(const std::int32_t* table, Word index) { return static_cast<Word>(table[index]); }
  static Float gather_floats(const float* table, Word index) { return table[index]; }

  /// The low nibble of each byte, with the byte's place in its word above it.
  static Word nibble_in_its_table(Word x) { return (x & 0x0F0F0F0FU) | 0x30201000U; }
  /// The entries of a 64-byte table that the bytes of x point at.
  static Word table_entries(const std::byte* table, Word x) {
    Word y = 0;
    for (int j = 0; j < 4; ++j) y |= std::to_integer<Word>(table[unsigned_byte(x, j)]) << 8 * j;
    return y;
  }
  /// Sums of signed bytes, which fit a byte.
  static Word add_bytes(Word a, Word b) {
    Word y = 0;
    for (int j = 0; j < 4; ++j) y |= (static_cast<Word>(signed_byte(a, j) + signed_byte(b, j)) & 0xFFU) << 8 * j;
    return y;
  }
  /// sum + the four signed bytes of x.
  static Word add_four(Word sum, Word x) { return dot(sum, 0x01010101U, x); }

  static Float splat_float(float x) { return x; }
  static Float broadcast_float(const std::byte* p) { return as_float(load(p)); }
  static Float load_float(const float* p) { return *p; }
  static void store_float(float* p, Float x) { *p = x; }
  static Float load_half(const std::byte* p) {
    std::uint16_t bits;
    std::memcpy(&bits, p, sizeof(bits));
    return half_to_float(bits);
  }
  static Float to_float(Word x) { return static_cast<float>(static_cast<std::int32_t>(x)); }
  static Float as_float(Word x) { return std::bit_cast<float>(x); }
  static Float max(Float a, Float b) { return a > b ? a : b; }
  static Float min(Float a, Float b) { return a < b ? a : b; }
  static Float magnitude(Float x) { return std::fabs(x); }
  /// The largest of all lanes.
  static float largest_lane(Float x) { return x; }
  /// Of all lanes: the second half is added to the first, and so on.
  static float sum_by_halves(Float x) { return x; }
  /// Whether the sign of any lane is set.
  static bool any_negative(Float x) { return std::signbit(x); }
  /// To nearest, ties to even, as 32-bit integers.
  static Word round(Float x) { return static_cast<Word>(static_cast<std::int32_t>(std::lrint(x))); }
  /// The same as floats.
  static Float whole(Float x) { return std::rint(x); }
  static Word add_words(Word a, Word b) { return a + b; }
  /// sum, and value more where a < b.
  static Word add_if_less(Word sum, Float a, Float b, std::int32_t value) {
    return a < b ? sum + static_cast<Word>(value) : sum;
  }
  static Word subtract_words(Word a, Word b) { return a - b; }
  /// Over all lanes, as signed words.
  static std::int32_t sum_of_lanes(Word x) { return static_cast<std::int32_t>(x); }
  /// The lowest byte of each lane, one after the other.
  static void store_bytes(std::byte* p, Word x) { *p = static_cast<std::byte>(x); }
  /// The words of a, then of b, as 16-bit lanes, which they fit.
  static Halves narrow(Word a, Word b) { return {{static_cast<std::int16_t>(a), static_cast<std::int16_t>(b)}}; }
  static Halves add_halves(Halves a, Halves b) { return {{sum(a.at[0], b.at[0]), sum(a.at[1], b.at[1])}}; }
  static Halves subtract_halves(Halves a, Halves b) {
    return {{difference(a.at[0], b.at[0]), difference(a.at[1], b.at[1])}};
  }
  /// Lane l with l & kDistance = 0: x_l + x_{l + kDistance}; lane l + kDistance: x_l - x_{l + kDistance}.
  template <std::size_t kDistance>
  static Halves butterfly(Halves x) {
    return {{sum(x.at[0], x.at[1]), difference(x.at[0], x.at[1])}};
  }
  static Halves magnitude_halves(Halves x) {
    return {{static_cast<std::int16_t>(std::abs(x.at[0])), static_cast<std::int16_t>(std::abs(x.at[1]))}};
  }
  static Halves max_halves(Halves a, Halves b) { return {{std::max(a.at[0], b.at[0]), std::max(a.at[1], b.at[1])}}; }
  /// Of lanes that are not negative.
  static int largest_half(Halves x) { return std::max(x.at[0], x.at[1]); }
  /// Sums of two neighbours each, as words.
  static Word pair_sums(Halves x) { return static_cast<Word>(x.at[0] + x.at[1]); }
  /// Lane l of every four takes that of l + 2 or l - 2; not for a single lane.
  static Word word_after_next(Word x) { return x; }
  static Word max_words(Word a, Word b) {
    return static_cast<Word>(std::max(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
  }
  static int largest_word(Word x) { return static_cast<std::int32_t>(x); }
  /// x * factor / 2^15, to nearest, ties upwards; 0 <= factor < 2^15.
  static Halves scale_halves(Halves x, int factor) { return {{scaled(x.at[0], factor), scaled(x.at[1], factor)}}; }
  /// The lanes of a, then of b, as signed bytes, which they fit.
  static Word narrow_halves(Halves a, Halves b) {
    return byte_of(a.at[0]) | byte_of(a.at[1]) << 8 | byte_of(b.at[0]) << 16 | byte_of(b.at[1]) << 24;
  }
  static std::int16_t sum(int a, int b) { return static_cast<std::int16_t>(a + b); }
  static std::int16_t difference(int a, int b) { return static_cast<std::int16_t>(a - b); }
  static std::int16_t scaled(int x, int factor) { return static_cast<std::int16_t>((x * factor + 0x4000) >> 15); }
  static Word byte_of(int x) { return static_cast<Word>(x) & 0xFFU; }

  /// y where x > limit, else 0.
  static Float zero_unless_above(Float y, Float x, float limit) { return x > limit ? y : 0.0F; }
  static Float add(Float a, Float b) { return a + b; }
  static Float mul(Float a, Float b) { return a * b; }
  /// a * b + c, rounded once.
  static Float fma(Float a, Float b, Float c) { return std::fma(a, b, c); }
};

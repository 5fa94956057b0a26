// 256-bit vocabulary; the meaning of every entry is in vec_scalar-inl.h. The target defines Products (how bytes are
// multiplied) first.
struct Vec : Products {
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kRegisters = 16;
  static constexpr int kLevelBias = 0;
  static constexpr int kBitsInRegisters = 4;
  static constexpr bool kBatches = true;

  static constexpr std::size_t kHalfLanes = 2 * kLanes;

  using Word = __m256i;
  using Float = __m256;
  using Halves = __m256i;

  static Word load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(std::byte* p, Word x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static Word keep(Word x) {
    asm("" : "+x"(x));
    return x;
  }
  static Word splat(std::int32_t x) { return _mm256_set1_epi32(x); }
  static Word broadcast(const std::byte* p) {
    std::int32_t x;
    std::memcpy(&x, p, sizeof(x));
    return _mm256_set1_epi32(x);
  }
  // Always inlined: GCC takes a function that only prefetches for one without effect and drops its calls.
  static ORTHANT_INLINE void prefetch(const std::byte* p, std::size_t ahead) {
    _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(p) + ahead), _MM_HINT_T0);
  }

  template <int kBy>
  static Word shift_right(Word x) {
    if constexpr (kBy == 0) return x;
    return _mm256_srli_epi32(x, kBy);
  }
  template <int kBy>
  static Word shift(Word x) {
    if constexpr (kBy >= 0) return shift_right<kBy>(x);
    return _mm256_slli_epi32(x, -kBy);
  }
  template <int kBy>
  static Word shift_right_signed(Word x) {
    return _mm256_srai_epi32(x, kBy);
  }
  static Word bit_or(Word a, Word b) { return _mm256_or_si256(a, b); }
  static Word select(std::uint32_t mask, Word a, Word b) {
    const Word m = _mm256_set1_epi32(static_cast<std::int32_t>(mask));
    return _mm256_or_si256(_mm256_and_si256(m, a), _mm256_andnot_si256(m, b));
  }

  /// Sixteen entries for each look-up; wider codes add up look-ups of which all but one give zero.
  template <int kBits>
  struct Lookup {
    static constexpr std::size_t kTables = kBits <= 4 ? 1 : 1 << (kBits - 4);
    Word tables[kTables];
    explicit Lookup(const std::uint8_t* entries) {
      for (std::size_t t = 0; t < kTables; ++t) {
        tables[t] = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entries + 16 * t)));
      }
    }
    template <int kShift>
    Word at(Word x) const {
      const Word index =
          _mm256_and_si256(shift_right<kShift>(x), _mm256_set1_epi8(static_cast<char>((1 << kBits) - 1)));
      if constexpr (kTables == 1) {
        return _mm256_shuffle_epi8(tables[0], index);
      } else {
        Word y = _mm256_setzero_si256();
        for (std::size_t t = 0; t < kTables; ++t) {
          // The high nibble becomes 0 for table t alone; adding 0x70 with saturation sets bit 7 for all others.
          const Word of_table = _mm256_adds_epu8(_mm256_xor_si256(index, _mm256_set1_epi8(static_cast<char>(16 * t))),
                                                 _mm256_set1_epi8(0x70));
          y = _mm256_or_si256(y, _mm256_shuffle_epi8(tables[t], of_table));
        }
        return y;
      }
    }
  };

  template <int kBits>
  struct FloatLookup {
    const float* table;
    Float low;
    Float high;
    explicit FloatLookup(const float* entries)
        : table(entries), low(_mm256_loadu_ps(entries)), high(_mm256_loadu_ps(entries + 8)) {}
    template <int kShift>
    Float at(Word x) const {
      const Word index = shift_right<kShift>(x);
      if constexpr (kBits <= 3) {
        return _mm256_permutevar8x32_ps(low, index);
      } else if constexpr (kBits == 4) {
        const Float is_high = _mm256_castsi256_ps(_mm256_slli_epi32(x, 28 - kShift));
        return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index), is_high);
      } else {
        return _mm256_i32gather_ps(table, _mm256_and_si256(index, _mm256_set1_epi32((1 << kBits) - 1)), 4);
      }
    }
  };

  static Word gather_words(const std::int32_t* table, Word index) { return _mm256_i32gather_epi32(table, index, 4); }
  static Float gather_floats(const float* table, Word index) { return _mm256_i32gather_ps(table, index, 4); }

  static Float splat_float(float x) { return _mm256_set1_ps(x); }
  static Float broadcast_float(const std::byte* p) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(p)); }
  static Float load_float(const float* p) { return _mm256_loadu_ps(p); }
  static void store_float(float* p, Float x) { _mm256_storeu_ps(p, x); }
  static Float load_half(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Float to_float(Word x) { return _mm256_cvtepi32_ps(x); }
  static Float as_float(Word x) { return _mm256_castsi256_ps(x); }
  static Float max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Float magnitude(Float x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x); }
  static float largest_lane(Float x) {
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
  }
  static float sum_by_halves(Float x) {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
  }
  static bool any_negative(Float x) { return _mm256_movemask_ps(x) != 0; }
  static Word round(Float x) { return _mm256_cvtps_epi32(x); }
  static Float whole(Float x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Word add_words(Word a, Word b) { return _mm256_add_epi32(a, b); }
  static Word add_if_less(Word sum, Float a, Float b, std::int32_t value) {
    const Word less = _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
    return add_words(sum, _mm256_and_si256(less, splat(value)));
  }
  static Word subtract_words(Word a, Word b) { return _mm256_sub_epi32(a, b); }
  static std::int32_t sum_of_lanes(Word x) {
    __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_add_epi32(y, _mm_shuffle_epi32(y, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 0xB1)));
  }
  static void store_bytes(std::byte* p, Word x) {
    const __m128i first = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const Word packed = _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(first));
    const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), both);
  }
  static Halves narrow(Word a, Word b) { return _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8); }
  static Halves add_halves(Halves a, Halves b) { return _mm256_add_epi16(a, b); }
  static Halves subtract_halves(Halves a, Halves b) { return _mm256_sub_epi16(a, b); }
  template <std::size_t kDistance>
  static Halves far_halves(Halves x) {
    if constexpr (kDistance == 1) {
      return _mm256_shuffle_epi8(
          x, _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)));
    } else if constexpr (kDistance == 2) {
      return _mm256_shuffle_epi32(x, 0xB1);
    } else if constexpr (kDistance == 4) {
      return _mm256_shuffle_epi32(x, 0x4E);
    } else {
      return _mm256_permute2x128_si256(x, x, 1);
    }
  }
  template <std::size_t kDistance>
  static Halves butterfly(Halves x) {
    static_assert(kDistance < kHalfLanes);
    constexpr auto kSign = [](std::size_t lane) { return static_cast<short>((lane & kDistance) != 0 ? -1 : 1); };
    const Halves signs =
        _mm256_setr_epi16(kSign(0), kSign(1), kSign(2), kSign(3), kSign(4), kSign(5), kSign(6), kSign(7), kSign(8),
                          kSign(9), kSign(10), kSign(11), kSign(12), kSign(13), kSign(14), kSign(15));
    return _mm256_add_epi16(far_halves<kDistance>(x), _mm256_sign_epi16(x, signs));
  }
  static Halves magnitude_halves(Halves x) { return _mm256_abs_epi16(x); }
  static Halves max_halves(Halves a, Halves b) { return _mm256_max_epi16(a, b); }
  static int largest_half(Halves x) {
    const __m128i both = _mm_max_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return 0xFFFF - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(both, _mm_set1_epi16(-1))), 0);
  }
  static Word pair_sums(Halves x) { return _mm256_madd_epi16(x, _mm256_set1_epi16(1)); }
  static Word word_after_next(Word x) { return _mm256_shuffle_epi32(x, 0x4E); }
  static Word max_words(Word a, Word b) { return _mm256_max_epi32(a, b); }
  static int largest_word(Word x) {
    __m128i y = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_max_epi32(y, _mm_shuffle_epi32(y, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(y, _mm_shuffle_epi32(y, 0xB1)));
  }
  static Halves scale_halves(Halves x, int factor) {
    return _mm256_mulhrs_epi16(x, _mm256_set1_epi16(static_cast<short>(factor)));
  }
  static Word narrow_halves(Halves a, Halves b) { return _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xD8); }
  static Float zero_unless_above(Float y, Float x, float limit) {
    return _mm256_and_ps(y, _mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_GT_OQ));
  }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
};

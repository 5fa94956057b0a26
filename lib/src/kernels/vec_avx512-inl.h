// 512-bit vocabulary; the meaning of every entry is in vec_scalar-inl.h. The target defines Products (how bytes are
// multiplied) and ByteLookup (how they are looked up) first.
struct Vec : Products {
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRegisters = 32;
  static constexpr int kLevelBias = 0;
  static constexpr int kBitsInRegisters = 5;
  static constexpr bool kBatches = true;

  static constexpr std::size_t kHalfLanes = 2 * kLanes;

  using Word = __m512i;
  using Float = __m512;
  using Halves = __m512i;

  static Word load(const std::byte* p) { return _mm512_loadu_si512(p); }
  static void store(std::byte* p, Word x) { _mm512_storeu_si512(p, x); }
  static Word keep(Word x) {
    asm("" : "+v"(x));
    return x;
  }
  static Word splat(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Word broadcast(const std::byte* p) {
    std::int32_t x;
    std::memcpy(&x, p, sizeof(x));
    return _mm512_set1_epi32(x);
  }
  // Always inlined: GCC takes a function that only prefetches for one without effect and drops its calls.
  static ORTHANT_INLINE void prefetch(const std::byte* p, std::size_t ahead) {
    _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(p) + ahead), _MM_HINT_T0);
  }

  template <int kBy>
  static Word shift_right(Word x) {
    if constexpr (kBy == 0) return x;
    return _mm512_srli_epi32(x, kBy);
  }
  template <int kBy>
  static Word shift(Word x) {
    if constexpr (kBy >= 0) return shift_right<kBy>(x);
    return _mm512_slli_epi32(x, static_cast<unsigned>(-kBy));
  }
  template <int kBy>
  static Word shift_right_signed(Word x) {
    return _mm512_srai_epi32(x, kBy);
  }
  static Word bit_or(Word a, Word b) { return _mm512_or_si512(a, b); }
  static Word select(std::uint32_t mask, Word a, Word b) {
    return _mm512_ternarylogic_epi32(_mm512_set1_epi32(static_cast<std::int32_t>(mask)), a, b, 0xCA);
  }

  template <int kBits>
  using Lookup = ByteLookup<kBits>;

  template <int kBits>
  struct FloatLookup {
    const float* table;
    Float low;
    Float high;
    explicit FloatLookup(const float* entries)
        : table(entries), low(_mm512_loadu_ps(entries)), high(_mm512_loadu_ps(entries + 16)) {}
    template <int kShift>
    Float at(Word x) const {
      const Word index = shift_right<kShift>(x);
      if constexpr (kBits <= 4) {
        return _mm512_permutexvar_ps(index, low);
      } else if constexpr (kBits == 5) {
        return _mm512_permutex2var_ps(low, index, high);
      } else {
        return _mm512_i32gather_ps(_mm512_and_si512(index, _mm512_set1_epi32((1 << kBits) - 1)), table, 4);
      }
    }
  };

  static Word nibble_in_its_table(Word x) {
    return _mm512_ternarylogic_epi32(x, _mm512_set1_epi32(0x0F0F0F0F), _mm512_set1_epi32(0x30201000), 0xEA);
  }

  static Word gather_words(const std::int32_t* table, Word index) { return _mm512_i32gather_epi32(index, table, 4); }
  static Float gather_floats(const float* table, Word index) { return _mm512_i32gather_ps(index, table, 4); }

  static Float splat_float(float x) { return _mm512_set1_ps(x); }
  static Float broadcast_float(const std::byte* p) { return _mm512_set1_ps(*reinterpret_cast<const float*>(p)); }
  static Float load_float(const float* p) { return _mm512_loadu_ps(p); }
  static void store_float(float* p, Float x) { _mm512_storeu_ps(p, x); }
  static Float load_half(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Float to_float(Word x) { return _mm512_cvtepi32_ps(x); }
  static Float as_float(Word x) { return _mm512_castsi512_ps(x); }
  static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float min(Float a, Float b) { return _mm512_min_ps(a, b); }
  static Float magnitude(Float x) { return _mm512_abs_ps(x); }
  static float largest_lane(Float x) { return _mm512_reduce_max_ps(x); }
  static float sum_by_halves(Float x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
  }
  static bool any_negative(Float x) { return _mm512_movepi32_mask(_mm512_castps_si512(x)) != 0; }
  static Word round(Float x) { return _mm512_cvtps_epi32(x); }
  static Float whole(Float x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Word add_words(Word a, Word b) { return _mm512_add_epi32(a, b); }
  static Word add_if_less(Word sum, Float a, Float b, std::int32_t value) {
    return _mm512_mask_add_epi32(sum, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), sum, splat(value));
  }
  static Word subtract_words(Word a, Word b) { return _mm512_sub_epi32(a, b); }
  static std::int32_t sum_of_lanes(Word x) { return _mm512_reduce_add_epi32(x); }
  static void store_bytes(std::byte* p, Word x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }
  /// The 128-bit lanes of two packed vectors, taken in turn, in order.
  static Word in_order(Word x) { return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x); }
  static Halves narrow(Word a, Word b) { return in_order(_mm512_packs_epi32(a, b)); }
  static Halves add_halves(Halves a, Halves b) { return _mm512_add_epi16(a, b); }
  static Halves subtract_halves(Halves a, Halves b) { return _mm512_sub_epi16(a, b); }
  template <std::size_t kDistance>
  static Halves far_halves(Halves x) {
    if constexpr (kDistance == 1) {
      return _mm512_shuffle_epi8(
          x, _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)));
    } else if constexpr (kDistance == 2) {
      return _mm512_shuffle_epi32(x, _MM_PERM_CDAB);
    } else if constexpr (kDistance == 4) {
      return _mm512_shuffle_epi32(x, _MM_PERM_BADC);
    } else if constexpr (kDistance == 8) {
      return _mm512_shuffle_i64x2(x, x, 0xB1);
    } else {
      return _mm512_shuffle_i64x2(x, x, 0x4E);
    }
  }
  template <std::size_t kDistance>
  static Halves butterfly(Halves x) {
    static_assert(kDistance < kHalfLanes);
    constexpr std::uint32_t kUpper = kDistance == 1   ? 0xAAAAAAAAU
                                     : kDistance == 2 ? 0xCCCCCCCCU
                                     : kDistance == 4 ? 0xF0F0F0F0U
                                     : kDistance == 8 ? 0xFF00FF00U
                                                      : 0xFFFF0000U;
    const Halves far = far_halves<kDistance>(x);
    return _mm512_mask_sub_epi16(_mm512_add_epi16(x, far), kUpper, far, x);
  }
  static Halves magnitude_halves(Halves x) { return _mm512_abs_epi16(x); }
  static Halves max_halves(Halves a, Halves b) { return _mm512_max_epi16(a, b); }
  static int largest_half(Halves x) {
    const __m256i four = _mm256_max_epi16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    const __m128i both = _mm_max_epi16(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return 0xFFFF - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(both, _mm_set1_epi16(-1))), 0);
  }
  static Word pair_sums(Halves x) { return _mm512_madd_epi16(x, _mm512_set1_epi16(1)); }
  static Word word_after_next(Word x) { return _mm512_shuffle_epi32(x, _MM_PERM_BADC); }
  static Word max_words(Word a, Word b) { return _mm512_max_epi32(a, b); }
  static int largest_word(Word x) { return _mm512_reduce_max_epi32(x); }
  static Halves scale_halves(Halves x, int factor) {
    return _mm512_mulhrs_epi16(x, _mm512_set1_epi16(static_cast<short>(factor)));
  }
  static Word narrow_halves(Halves a, Halves b) { return in_order(_mm512_packs_epi16(a, b)); }
  static Float zero_unless_above(Float y, Float x, float limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_GT_OQ), y);
  }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
};

// 512-bit vocabulary; the meaning of every entry is in vec_scalar-inl.h. The target defines Products (how bytes are
// multiplied) and ByteLookup (how they are looked up) first.
struct Vec : Products {
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRegisters = 32;
  static constexpr int kLevelBias = 0;
  static constexpr bool kBatches = true;

  using Word = __m512i;
  using Float = __m512;

  static Word load(const std::byte* p) { return _mm512_loadu_si512(p); }
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
  static Word round(Float x) { return _mm512_cvtps_epi32(x); }
  static Word add_words(Word a, Word b) { return _mm512_add_epi32(a, b); }
  static Word word_if_less(Float a, Float b, std::int32_t value) {
    return _mm512_maskz_set1_epi32(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), value);
  }
  static Word subtract_words(Word a, Word b) { return _mm512_sub_epi32(a, b); }
  static std::int32_t sum_of_lanes(Word x) { return _mm512_reduce_add_epi32(x); }
  static void store_bytes(std::byte* p, Word x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }
  static Float zero_unless_above(Float y, Float x, float limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_GT_OQ), y);
  }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
};

// 128-bit vocabulary for AArch64; the meaning of every entry is in vec_scalar-inl.h.
// sdot multiplies signed bytes: Lookup gives levels less 128, and kLevelBias tells the queries' seeds.
struct Vec {
  static constexpr Arithmetic kArithmetic = Arithmetic::kWide;
  static constexpr std::size_t kDotsInFlight = 8;
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kRegisters = 32;
  static constexpr int kLevelBias = 128;
  static constexpr int kBitsInRegisters = 2;
  static constexpr bool kBatches = true;

  static constexpr std::size_t kHalfLanes = 2 * kLanes;

  using Word = uint32x4_t;
  using Float = float32x4_t;
  using Halves = int16x8_t;

  static Word load(const std::byte* p) {
    return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)));
  }
  static void store(std::byte* p, Word x) { vst1q_u8(reinterpret_cast<std::uint8_t*>(p), vreinterpretq_u8_u32(x)); }
  static Word keep(Word x) {
    asm("" : "+w"(x));
    return x;
  }
  static Word splat(std::int32_t x) { return vreinterpretq_u32_s32(vdupq_n_s32(x)); }
  static Word broadcast(const std::byte* p) {
    std::uint32_t x;
    std::memcpy(&x, p, sizeof(x));
    return vdupq_n_u32(x);
  }
  static ORTHANT_INLINE void prefetch(const std::byte* p, std::size_t ahead) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + ahead));
  }

  template <int kBy>
  static Word shift_right(Word x) {
    if constexpr (kBy == 0) {
      return x;
    } else {
      return vshrq_n_u32(x, kBy);
    }
  }
  template <int kBy>
  static Word shift(Word x) {
    if constexpr (kBy >= 0) {
      return shift_right<kBy>(x);
    } else {
      return vshlq_n_u32(x, -kBy);
    }
  }
  template <int kBy>
  static Word shift_right_signed(Word x) {
    return vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(x), kBy));
  }
  static Word bit_or(Word a, Word b) { return vorrq_u32(a, b); }
  static Word select(std::uint32_t mask, Word a, Word b) { return vbslq_u32(vdupq_n_u32(mask), a, b); }

  static Word dot(Word sum, Word levels, Word queries) {
    return vreinterpretq_u32_s32(
        vdotq_s32(vreinterpretq_s32_u32(sum), vreinterpretq_s8_u32(levels), vreinterpretq_s8_u32(queries)));
  }
  static Word dot_full(Word sum, Word levels, Word queries) {
    return dot(sum, veorq_u32(levels, vdupq_n_u32(0x80808080U)), queries);
  }

  /// Sixteen entries a register; tbl gives zero beyond its table, so wider codes add up look-ups of shifted indices.
  template <int kBits>
  struct Lookup {
    static constexpr std::size_t kTables = kBits <= 4 ? 1 : std::size_t{1} << (kBits - 4);
    uint8x16_t tables[kTables];
    explicit Lookup(const std::uint8_t* entries) {
      for (std::size_t t = 0; t < kTables; ++t) tables[t] = veorq_u8(vld1q_u8(entries + 16 * t), vdupq_n_u8(0x80));
    }
    template <int kShift>
    Word at(Word x) const {
      const uint8x16_t index = vandq_u8(vreinterpretq_u8_u32(shift_right<kShift>(x)),
                                        vdupq_n_u8(static_cast<std::uint8_t>((1U << kBits) - 1)));
      uint8x16_t y = vqtbl1q_u8(tables[0], index);
      for (std::size_t t = 1; t < kTables; ++t) {
        y = vorrq_u8(y, vqtbl1q_u8(tables[t], vsubq_u8(index, vdupq_n_u8(static_cast<std::uint8_t>(16 * t)))));
      }
      return vreinterpretq_u32_u8(y);
    }
  };

  template <int kBits>
  struct FloatLookup {
    const float* table;
    explicit FloatLookup(const float* entries) : table(entries) {}
    template <int kShift>
    Float at(Word x) const {
      std::uint32_t index[4];
      vst1q_u32(index, vandq_u32(shift_right<kShift>(x), vdupq_n_u32((1U << kBits) - 1)));
      const float values[4] = {table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
      return vld1q_f32(values);
    }
  };

  static Word gather_words(const std::int32_t* table, Word index) {
    std::uint32_t i[4];
    vst1q_u32(i, index);
    const std::int32_t words[4] = {table[i[0]], table[i[1]], table[i[2]], table[i[3]]};
    return vreinterpretq_u32_s32(vld1q_s32(words));
  }
  static Float gather_floats(const float* table, Word index) {
    std::uint32_t i[4];
    vst1q_u32(i, index);
    const float values[4] = {table[i[0]], table[i[1]], table[i[2]], table[i[3]]};
    return vld1q_f32(values);
  }

  static Float splat_float(float x) { return vdupq_n_f32(x); }
  static Float broadcast_float(const std::byte* p) { return vreinterpretq_f32_u32(broadcast(p)); }
  static Float load_float(const float* p) { return vld1q_f32(p); }
  static void store_float(float* p, Float x) { vst1q_f32(p, x); }
  static Float load_half(const std::byte* p) {
    std::uint16_t halves[4];
    std::memcpy(halves, p, sizeof(halves));
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves)));
  }
  static Float to_float(Word x) { return vcvtq_f32_s32(vreinterpretq_s32_u32(x)); }
  static Float as_float(Word x) { return vreinterpretq_f32_u32(x); }
  static Float max(Float a, Float b) { return vmaxq_f32(a, b); }
  static Float min(Float a, Float b) { return vminq_f32(a, b); }
  static Float magnitude(Float x) { return vabsq_f32(x); }
  static float largest_lane(Float x) { return vmaxvq_f32(x); }
  static float sum_by_halves(Float x) {
    const float32x2_t y = vadd_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(y, 0) + vget_lane_f32(y, 1);
  }
  static bool any_negative(Float x) { return vmaxvq_u32(vreinterpretq_u32_f32(x)) > 0x7FFFFFFFU; }
  static Word round(Float x) { return vreinterpretq_u32_s32(vcvtnq_s32_f32(x)); }
  static Float whole(Float x) { return vrndnq_f32(x); }
  static Word add_words(Word a, Word b) { return vaddq_u32(a, b); }
  static Word add_if_less(Word sum, Float a, Float b, std::int32_t value) {
    return add_words(sum, vandq_u32(vcltq_f32(a, b), splat(value)));
  }
  static Word subtract_words(Word a, Word b) { return vsubq_u32(a, b); }
  static std::int32_t sum_of_lanes(Word x) { return vaddvq_s32(vreinterpretq_s32_u32(x)); }
  static void store_bytes(std::byte* p, Word x) {
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(vmovn_u32(x), vmovn_u32(x)));
    const std::uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
    std::memcpy(p, &four, sizeof(four));
  }
  static Halves narrow(Word a, Word b) {
    return vcombine_s16(vqmovn_s32(vreinterpretq_s32_u32(a)), vqmovn_s32(vreinterpretq_s32_u32(b)));
  }
  static Halves add_halves(Halves a, Halves b) { return vaddq_s16(a, b); }
  static Halves subtract_halves(Halves a, Halves b) { return vsubq_s16(a, b); }
  template <std::size_t kDistance>
  static Halves far_halves(Halves x) {
    if constexpr (kDistance == 1) {
      return vrev32q_s16(x);
    } else if constexpr (kDistance == 2) {
      return vreinterpretq_s16_s32(vrev64q_s32(vreinterpretq_s32_s16(x)));
    } else {
      return vextq_s16(x, x, 4);
    }
  }
  template <std::size_t kDistance>
  static Halves butterfly(Halves x) {
    static_assert(kDistance < kHalfLanes);
    constexpr auto kSign = [](std::size_t lane) -> std::int16_t { return (lane & kDistance) != 0 ? -1 : 1; };
    const std::int16_t signs[kHalfLanes] = {kSign(0), kSign(1), kSign(2), kSign(3),
                                            kSign(4), kSign(5), kSign(6), kSign(7)};
    return vmlaq_s16(far_halves<kDistance>(x), x, vld1q_s16(signs));
  }
  static Halves magnitude_halves(Halves x) { return vabsq_s16(x); }
  static Halves max_halves(Halves a, Halves b) { return vmaxq_s16(a, b); }
  static int largest_half(Halves x) { return vmaxvq_s16(x); }
  static Halves scale_halves(Halves x, int factor) { return vqrdmulhq_n_s16(x, static_cast<std::int16_t>(factor)); }
  static Word narrow_halves(Halves a, Halves b) {
    return vreinterpretq_u32_s8(vcombine_s8(vqmovn_s16(a), vqmovn_s16(b)));
  }
  static Float zero_unless_above(Float y, Float x, float limit) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(y), vcgtq_f32(x, vdupq_n_f32(limit))));
  }
  static Float add(Float a, Float b) { return vaddq_f32(a, b); }
  static Float mul(Float a, Float b) { return vmulq_f32(a, b); }
  static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
};

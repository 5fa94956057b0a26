// Small passes over rows of floats. Included inside each target's namespace after its vocabulary Vec; no include guard.

inline unsigned read_rows(const std::byte* rows, std::size_t count) {
  Vec::Word words[4] = {Vec::splat(0), Vec::splat(0), Vec::splat(0), Vec::splat(0)};
  for (std::size_t i = 0; i < count * kRowBytes; i += 16 * Vec::kLanes) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < 4; ++v) words[v] = Vec::bit_or(words[v], Vec::load(rows + i + 4 * Vec::kLanes * v));
  }
  const Vec::Word all = Vec::bit_or(Vec::bit_or(words[0], words[1]), Vec::bit_or(words[2], words[3]));
  unsigned lanes[Vec::kLanes];
  std::memcpy(lanes, &all, sizeof(lanes));
  unsigned result = 0;
  for (const unsigned lane : lanes) result |= lane;
  return result;
}

/// slope * r + constant.
ORTHANT_INLINE Vec::Float line(float slope, Vec::Float r, float constant) {
  return Vec::fma(Vec::splat_float(slope), r, Vec::splat_float(constant));
}

/// exp(x) for -infinity <= x <= 0 as 2^k exp(r), k = round(x / ln 2), |r| <= ln 2 / 2 + tiny. r by Cody and Waite
/// (1980) with ln 2 in two parts, the first of 16 bits so that k * kLn2High is exact; exp(r) by its Taylor polynomial
/// of degree 7: the remainder is below (ln 2 / 2)^8 / 8! = 5.2e-9 < 2^-27 relative, rounding adds the rest of the
/// 2^-22. The polynomial is summed by halves (Estrin 1960): chains of waiting operations fill a processor's schedulers.
ORTHANT_INLINE Vec::Float exponential(Vec::Float x) {
  constexpr float kLowest = -87.0F;
  constexpr float kLn2High = 0.693145751953125F;
  constexpr float kLn2Low = 1.42860682030941723212e-6F;
  const Vec::Float clamped = Vec::max(x, Vec::splat_float(kLowest));
  const Vec::Word k = Vec::round(Vec::mul(clamped, Vec::splat_float(1.44269504088896340736F)));
  const Vec::Float kf = Vec::to_float(k);
  const Vec::Float r = Vec::fma(kf, Vec::splat_float(-kLn2Low), Vec::fma(kf, Vec::splat_float(-kLn2High), clamped));
  const Vec::Float r2 = Vec::mul(r, r);
  const Vec::Float low = Vec::fma(line(1.0F / 6, r, 0.5F), r2, line(1.0F, r, 1.0F));
  const Vec::Float high = Vec::fma(line(1.0F / 5040, r, 1.0F / 720), r2, line(1.0F / 120, r, 1.0F / 24));
  const Vec::Float p = Vec::fma(high, Vec::mul(r2, r2), low);
  const Vec::Float power = Vec::as_float(Vec::template shift<-23>(Vec::add_words(k, Vec::splat(127))));
  return Vec::zero_unless_above(Vec::mul(p, power), x, kLowest);
}

/// Sixteen chains, whatever the width of a vector.
inline constexpr std::size_t kChains = 16;
inline constexpr std::size_t kChainVectors = kChains / Vec::kLanes;

/// Of all lanes, halves added to halves: the same bits whatever the width of a vector.
template <std::size_t kVectors>
ORTHANT_INLINE float sum_by_halves(Vec::Float (&x)[kVectors]) {
  ORTHANT_UNROLL
  for (std::size_t half = kVectors / 2; half > 0; half /= 2) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < half; ++v) x[v] = Vec::add(x[v], x[v + half]);
  }
  return Vec::sum_by_halves(x[0]);
}

inline float largest_of(const float* scores, std::size_t n) {
  float lanes[kChains];
  Vec::Float largest[kChainVectors];
  for (std::size_t v = 0; v < kChainVectors; ++v) largest[v] = Vec::splat_float(scores[0]);
  std::size_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kChainVectors; ++v) {
      largest[v] = Vec::max(largest[v], Vec::load_float(scores + i + v * Vec::kLanes));
    }
  }
  for (std::size_t v = 0; v < kChainVectors; ++v) Vec::store_float(lanes + v * Vec::kLanes, largest[v]);
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], scores[i]);
  return *std::max_element(lanes, lanes + kChains);
}

inline float exponentials(float* scores, std::size_t n, float largest) {
  const Vec::Float minus_largest = Vec::splat_float(-largest);
  Vec::Float sums[kChainVectors];
  for (std::size_t v = 0; v < kChainVectors; ++v) sums[v] = Vec::splat_float(0);
  const auto whole = n / kChains * kChains;
  for (std::size_t i = 0; i < whole; i += kChains) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kChainVectors; ++v) {
      float* const at = scores + i + v * Vec::kLanes;
      const Vec::Float e = exponential(Vec::add(Vec::load_float(at), minus_largest));
      Vec::store_float(at, e);
      sums[v] = Vec::add(sums[v], e);
    }
  }
  if (whole < n) {
    float tail[kChains];
    for (std::size_t j = 0; j < kChains; ++j)
      tail[j] = whole + j < n ? scores[whole + j] : -std::numeric_limits<float>::infinity();
    for (std::size_t v = 0; v < kChainVectors; ++v) {
      const Vec::Float e = exponential(Vec::add(Vec::load_float(tail + v * Vec::kLanes), minus_largest));
      Vec::store_float(tail + v * Vec::kLanes, e);
      sums[v] = Vec::add(sums[v], e);
    }
    std::copy(tail, tail + (n - whole), scores + whole);
  }
  return sum_by_halves(sums);
}

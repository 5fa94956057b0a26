// Small passes over rows of floats. Included inside each target's namespace after its vocabulary Vec; no include guard.

inline void load_halves(const std::byte* halves, float* values) {
  for (std::size_t i = 0; i < kLanes; i += Vec::kLanes) Vec::store_float(values + i, Vec::load_half(halves + 2 * i));
}

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

/// exp(x) for -infinity <= x <= 0 as 2^k exp(r), k = round(x / ln 2), |r| <= ln 2 / 2 + tiny. r by Cody and Waite
/// (1980) with ln 2 in two parts, the first of 15 bits so that k * kLn2High is exact; exp(r) by its Taylor polynomial
/// of degree 7: the remainder is below (ln 2 / 2)^8 / 8! = 5.2e-9 < 2^-27 relative, rounding adds the rest of the
/// 2^-22.
ORTHANT_INLINE float exponential(float x) {
  constexpr float kLn2High = 0.693145751953125F;
  constexpr float kLn2Low = 1.42860682030941723212e-6F;
  const float clamped = x > -87.0F ? x : -87.0F;
  const auto k = static_cast<std::int32_t>(clamped * 1.44269504088896340736F - 0.5F);
  const auto kf = static_cast<float>(k);
  const float r = (clamped - kf * kLn2High) - kf * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const float power = std::bit_cast<float>((k + 127) << 23);
  return x > -87.0F ? p * power : 0.0F;
}

inline float largest_of(const float* scores, std::size_t n) {
  constexpr std::size_t kLargest = 16;
  float largest[kLargest];
  for (std::size_t j = 0; j < kLargest; ++j) largest[j] = scores[0];
  std::size_t i = 0;
  for (; i + kLargest <= n; i += kLargest) {
    for (std::size_t j = 0; j < kLargest; ++j) largest[j] = scores[i + j] > largest[j] ? scores[i + j] : largest[j];
  }
  for (; i < n; ++i) largest[0] = std::max(largest[0], scores[i]);
  for (std::size_t j = 1; j < kLargest; ++j) largest[0] = std::max(largest[0], largest[j]);
  return largest[0];
}

inline float exponentials(float* scores, std::size_t n, float largest) {
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      const float e = exponential(scores[i + j] - largest);
      scores[i + j] = e;
      sums[j] += e;
    }
  }
  for (std::size_t j = 0; i < n; ++i, ++j) {
    scores[i] = exponential(scores[i] - largest);
    sums[j] += scores[i];
  }
  for (std::size_t half = kSums / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

/// sum_j x_j^2 in sixteen chains.
inline float sum_of_squares(const float* x, std::size_t n) {
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += x[i + j] * x[i + j];
  }
  for (std::size_t j = 0; i < n; ++i, ++j) sums[j] += x[i] * x[i];
  for (std::size_t half = kSums / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

/// codes[j] = #{k < count : thresholds[k] < factor * y_j}: one compare for each threshold, no branches.
inline void count_thresholds(const float* y, std::size_t n, float factor, const float* thresholds, std::size_t count,
                             std::uint8_t* codes) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = std::min(kBlock, n - first);
    float value[kBlock] = {};
    std::int32_t code[kBlock] = {};
    for (std::size_t j = 0; j < size; ++j) value[j] = factor * y[first + j];
    for (std::size_t part = 0; part < kBlock; part += 16) {
      for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t j = 0; j < 16; ++j) code[part + j] += thresholds[k] < value[part + j] ? 1 : 0;
      }
    }
    for (std::size_t j = 0; j < size; ++j) codes[first + j] = static_cast<std::uint8_t>(code[j]);
  }
}

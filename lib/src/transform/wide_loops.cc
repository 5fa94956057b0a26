#include "transform/wide_loops.h"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "transform/wide_vector.h"

namespace orthant::transform {
namespace {

/// Butterflies of distance h < kWidth inside one vector: lane l becomes x_(l without h) +- x_(l with h).
template <std::size_t kWidth, std::size_t h>
ORTHANT_ALWAYS_INLINE void butterflies_inside(Floats<kWidth>& x) {
  if constexpr (h < kWidth) {
    using Words = typename WideVector<kWidth>::Words;
    Words signs = {};
    for (std::size_t lane = 0; lane < kWidth; ++lane)
      signs[lane] = (lane & h) != 0 ? static_cast<std::int32_t>(0x80000000U) : std::int32_t{0};
    Floats<kWidth> far;
    exchange<h>(far, x);
    x = far + reinterpret_cast<Floats<kWidth>>(reinterpret_cast<Words>(x) ^ signs);
  }
}

/// Butterflies of distance h vectors, pair after pair.
template <std::size_t h, std::size_t kVectors, class Vector>
ORTHANT_ALWAYS_INLINE void butterflies_between(Vector (&v)[kVectors]) {
  if constexpr (h < kVectors) {
    ORTHANT_UNROLL
    for (std::size_t pair = 0; pair < kVectors / 2; ++pair) {
      const std::size_t i = pair / h * 2 * h + pair % h;
      const Vector sum = v[i] + v[i + h];
      v[i + h] = v[i] - v[i + h];
      v[i] = sum;
    }
  }
}

/// Vectors of a block whose butterflies stay in registers: half of them, the others are for what is on its way.
template <std::size_t kWidth>
inline constexpr std::size_t kBlockVectors = kWidth == kWidthAvx512 ? 16 : 8;

/// All butterflies of distances below kWidth * kVectors, in rising order, on as many consecutive floats.
template <std::size_t kWidth, std::size_t kVectors>
ORTHANT_ALWAYS_INLINE void hadamard_block(float* x, const float* signs, float scale) {
  Floats<kWidth> v[kVectors];
  ORTHANT_UNROLL
  for (std::size_t i = 0; i < kVectors; ++i) {
    load(v[i], x + kWidth * i);
    if (signs != nullptr) {
      Floats<kWidth> s;
      load(s, signs + kWidth * i);
      v[i] *= s;
    }
    butterflies_inside<kWidth, 1>(v[i]);
    butterflies_inside<kWidth, 2>(v[i]);
    butterflies_inside<kWidth, 4>(v[i]);
    butterflies_inside<kWidth, 8>(v[i]);
  }
  butterflies_between<1>(v);
  butterflies_between<2>(v);
  butterflies_between<4>(v);
  butterflies_between<8>(v);
  ORTHANT_UNROLL
  for (std::size_t i = 0; i < kVectors; ++i) {
    v[i] *= scale;
    store(x + kWidth * i, v[i]);
  }
}

/// n <= kVectors * kWidth in one block, if it fills a vector at least; false otherwise.
template <std::size_t kWidth, std::size_t kVectors>
ORTHANT_ALWAYS_INLINE bool hadamard_in_one_block(float* x, std::size_t n, const float* signs, float scale) {
  if (n == kVectors * kWidth) {
    hadamard_block<kWidth, kVectors>(x, signs, scale);
    return true;
  }
  if constexpr (kVectors > 1) return hadamard_in_one_block<kWidth, kVectors / 2>(x, n, signs, scale);
  return false;
}

/// Butterflies of distance h on 2 h floats, h at least kWidth.
template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void butterflies_across(float* x, std::size_t h, float scale) {
  for (std::size_t j = 0; j < h; j += kWidth) {
    Floats<kWidth> a, b;
    load(a, x + j);
    load(b, x + j + h);
    const Floats<kWidth> sum = (a + b) * scale;
    const Floats<kWidth> difference = (a - b) * scale;
    store(x + j, sum);
    store(x + j + h, difference);
  }
}

/// Fewer elements than a vector holds.
ORTHANT_ALWAYS_INLINE void hadamard_of_few(float* x, std::size_t n, const float* signs, float scale) {
  for (std::size_t j = 0; signs != nullptr && j < n; ++j) x[j] *= signs[j];
  for (std::size_t h = 1; h < n; h *= 2) {
    for (std::size_t block = 0; block < n; block += 2 * h) {
      for (std::size_t j = block; j < block + h; ++j) {
        const float sum = x[j] + x[j + h];
        x[j + h] = x[j] - x[j + h];
        x[j] = sum;
      }
    }
  }
  for (std::size_t j = 0; j < n; ++j) x[j] *= scale;
}

/// scale H x: distances in rising order, the last with the scale.
template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void scaled_hadamard(float* x, std::size_t n, const float* signs, float scale) {
  constexpr std::size_t kBlock = kBlockVectors<kWidth> * kWidth;
  if (n < kWidth) return hadamard_of_few(x, n, signs, scale);
  if (hadamard_in_one_block<kWidth, kBlockVectors<kWidth>>(x, n, signs, scale)) return;
  for (std::size_t first = 0; first < n; first += kBlock)
    hadamard_block<kWidth, kBlockVectors<kWidth>>(x + first, signs != nullptr ? signs + first : nullptr, 1);
  for (std::size_t h = kBlock; h < n; h *= 2)
    for (std::size_t block = 0; block < n; block += 2 * h)
      butterflies_across<kWidth>(x + block, h, 2 * h == n ? scale : 1);
}

/// Known at once for the sizes that are met: a square root and a division take as long as half the butterflies.
ORTHANT_ALWAYS_INLINE float inverse_root(std::size_t n) {
  switch (n) {
    case 64:
      return 0.125F;
    case 128:
      return static_cast<float>(0.125 / std::numbers::sqrt2);
    case 256:
      return 0.0625F;
    default:
      return static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  }
}

template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void hadamard_body(float* x, std::size_t n, const float* signs) {
  scaled_hadamard<kWidth>(x, n, signs, inverse_root(n));
}

template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void butterflies_body(float* x, std::size_t n, std::size_t rows, std::size_t stride) {
  for (std::size_t r = 0; r < rows; ++r) scaled_hadamard<kWidth>(x + r * stride, n, nullptr, 1);
}

inline constexpr std::size_t kChains = 16;  // of every sum, whatever the width

/// Sixteen chains in vectors.
template <std::size_t kWidth>
struct Chains {
  static constexpr std::size_t kVectors = kChains / kWidth;
  Floats<kWidth> at[kVectors] = {};

  /// Halves added to halves.
  ORTHANT_ALWAYS_INLINE float sum() const {
    Floats<kWidth> v[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) v[i] = at[i];
    ORTHANT_UNROLL
    for (std::size_t half = kVectors / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) v[i] += v[i + half];
    fold<kWidth / 2>(v[0]);
    return v[0][0];
  }

 private:
  template <std::size_t kDistance>
  static ORTHANT_ALWAYS_INLINE void fold(Floats<kWidth>& x) {
    if constexpr (kDistance > 0) {
      Floats<kWidth> far;
      exchange<kDistance>(far, x);
      x += far;
      fold<kDistance / 2>(x);
    }
  }
};

/// One coordinate pair, or sixteen, of a query: what does not depend on the angle.
template <class T>
struct TurningPair {
  T first_cosine, first_sine, second_cosine, second_sine, mean_cosine, mean_sine;
  ORTHANT_ALWAYS_INLINE TurningPair(const T& a, const T& b, const T& first_scale, const T& second_scale,
                                    const T& first_mean, const T& second_mean)
      : first_cosine(first_scale * a),
        first_sine(first_scale * b),
        second_cosine(second_scale * b),
        second_sine(second_scale * a),
        mean_cosine(a * first_mean + b * second_mean),
        mean_sine(a * second_mean - b * first_mean) {}
  ORTHANT_ALWAYS_INLINE void turn(const T& c, const T& s, T& first, T& second, T& mean) const {
    first = first_cosine * c - first_sine * s;
    second = second_sine * s + second_cosine * c;
    mean = mean_cosine * c + mean_sine * s;
  }
};

template <std::size_t kWidth, std::size_t kRows>
ORTHANT_ALWAYS_INLINE void turn_rows(const float* q, std::size_t pairs, const float* scale, const float* mean,
                                     const TurnedRows& rows, std::size_t first_row) {
  using Vector = Floats<kWidth>;
  const float* const phases = rows.phases + first_row * 2 * pairs;
  float* const out = rows.out + first_row * rows.out_stride;
  Chains<kWidth> sums[kRows];
  std::size_t i = 0;
  for (; i + kChains <= pairs; i += kChains) {
    ORTHANT_UNROLL
    for (std::size_t chain = 0; chain < Chains<kWidth>::kVectors; ++chain) {
      const std::size_t at = i + chain * kWidth;
      Vector a, b, f, g, m, n;
      load(a, q + at);
      load(b, q + pairs + at);
      load(f, scale + at);
      load(g, scale + pairs + at);
      load(m, mean + at);
      load(n, mean + pairs + at);
      const TurningPair<Vector> pair(a, b, f, g, m, n);
      ORTHANT_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        Vector c, s;
        load(c, phases + r * 2 * pairs + at);
        load(s, phases + r * 2 * pairs + pairs + at);
        Vector first, second, product;
        pair.turn(c, s, first, second, product);
        store(out + r * rows.out_stride + at, first);
        store(out + r * rows.out_stride + pairs + at, second);
        sums[r].at[chain] += product;
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float sum = sums[r].sum();
    for (std::size_t k = i; k < pairs; ++k) {
      const TurningPair<float> pair(q[k], q[pairs + k], scale[k], scale[pairs + k], mean[k], mean[pairs + k]);
      const float c = phases[r * 2 * pairs + k];
      const float s = phases[r * 2 * pairs + pairs + k];
      float product = 0;
      pair.turn(c, s, out[r * rows.out_stride + k], out[r * rows.out_stride + pairs + k], product);
      sum += product;
    }
    rows.sums[(first_row + r) * rows.sum_stride] = sum;
  }
}

template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void turn_and_scale_body(const float* q, std::size_t pairs, const float* scale, const float* mean,
                                               const TurnedRows& rows) {
  std::size_t r = 0;
  for (; r + 4 <= rows.count; r += 4) turn_rows<kWidth, 4>(q, pairs, scale, mean, rows, r);
  for (; r < rows.count; ++r) turn_rows<kWidth, 1>(q, pairs, scale, mean, rows, r);
}

template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE float dot_body(const float* a, const float* b, std::size_t n) {
  Chains<kWidth> first, second;
  const auto add_products = [&](Chains<kWidth> & sums, std::size_t at) __attribute__((always_inline)) {
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < Chains<kWidth>::kVectors; ++i) {
      Floats<kWidth> x, y;
      load(x, a + at + i * kWidth);
      load(y, b + at + i * kWidth);
      sums.at[i] += x * y;
    }
  };
  std::size_t j = 0;
  for (; j + 2 * kChains <= n; j += 2 * kChains) {
    add_products(first, j);
    add_products(second, j + kChains);
  }
  for (std::size_t i = 0; i < Chains<kWidth>::kVectors; ++i) first.at[i] += second.at[i];
  float sum = first.sum();
  for (; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

// One set of functions for each instruction set, the bodies above inlined into them.
#define ORTHANT_WIDE_LOOPS(name, width, attribute)                                                                   \
  attribute void hadamard_##name(float* x, std::size_t n, const float* signs) { hadamard_body<width>(x, n, signs); } \
  attribute void butterflies_##name(float* x, std::size_t n, std::size_t rows, std::size_t stride) {                 \
    butterflies_body<width>(x, n, rows, stride);                                                                     \
  }                                                                                                                  \
  attribute void turn_and_scale_##name(const float* q, std::size_t pairs, const float* scale, const float* mean,     \
                                       const TurnedRows& rows) {                                                     \
    turn_and_scale_body<width>(q, pairs, scale, mean, rows);                                                         \
  }                                                                                                                  \
  attribute float dot_##name(const float* a, const float* b, std::size_t n) { return dot_body<width>(a, b, n); }     \
  constexpr WideLoops k_##name{hadamard_##name, butterflies_##name, turn_and_scale_##name, dot_##name};

ORTHANT_WIDE_LOOPS(portable, kWidthPortable, )
#if defined(__x86_64__)
ORTHANT_WIDE_LOOPS(avx2, kWidthAvx2, __attribute__((target("avx2"))))
ORTHANT_WIDE_LOOPS(avx512, kWidthAvx512, __attribute__((target("avx512f,avx512dq"))))
#endif

const WideLoops& choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0) return k_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return k_avx2;
#endif
  return k_portable;
}

}  // namespace

const WideLoops& wide_loops() {
  static const WideLoops& chosen = choose();
  return chosen;
}

}  // namespace orthant::transform

#include "transform/wide_loops.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

namespace orthant::transform {
namespace {

#define ORTHANT_ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define ORTHANT_UNROLL _Pragma("unroll")
#else
#define ORTHANT_UNROLL _Pragma("GCC unroll 16")
#endif

// Sixteen floats as the compiler's own vectors: one register, two or four, whatever the function around them may use.
constexpr std::size_t kWidth = 16;
using Floats = float __attribute__((vector_size(4 * kWidth)));
using Words = std::int32_t __attribute__((vector_size(4 * kWidth)));

ORTHANT_ALWAYS_INLINE void load(Floats& v, const float* from) { std::memcpy(&v, from, sizeof v); }
ORTHANT_ALWAYS_INLINE void store(float* to, const Floats& v) { std::memcpy(to, &v, sizeof v); }

/// Butterflies of distance h < kWidth inside one vector: lane l becomes x_(l without h) +- x_(l with h).
template <std::size_t h>
ORTHANT_ALWAYS_INLINE void butterflies_inside(Floats& x) {
  constexpr auto kFar = [](std::size_t lane) { return static_cast<int>(lane ^ h); };
  constexpr auto kSign = [](std::size_t lane) {
    return (lane & h) != 0 ? static_cast<std::int32_t>(0x80000000U) : std::int32_t{0};
  };
  const Floats far =
      __builtin_shufflevector(x, x, kFar(0), kFar(1), kFar(2), kFar(3), kFar(4), kFar(5), kFar(6), kFar(7), kFar(8),
                              kFar(9), kFar(10), kFar(11), kFar(12), kFar(13), kFar(14), kFar(15));
  const Words signs = {kSign(0), kSign(1), kSign(2),  kSign(3),  kSign(4),  kSign(5),  kSign(6),  kSign(7),
                       kSign(8), kSign(9), kSign(10), kSign(11), kSign(12), kSign(13), kSign(14), kSign(15)};
  x = far + reinterpret_cast<Floats>(reinterpret_cast<Words>(x) ^ signs);
}

/// Butterflies of distance h vectors, pair after pair.
template <std::size_t kVectors, std::size_t h>
ORTHANT_ALWAYS_INLINE void butterflies_between(Floats (&v)[kVectors]) {
  if constexpr (h < kVectors) {
    ORTHANT_UNROLL
    for (std::size_t pair = 0; pair < kVectors / 2; ++pair) {
      const std::size_t i = pair / h * 2 * h + pair % h;
      const Floats sum = v[i] + v[i + h];
      v[i + h] = v[i] - v[i + h];
      v[i] = sum;
    }
  }
}

/// All butterflies of distances below kWidth * kVectors, in rising order, on as many consecutive floats.
template <std::size_t kVectors, bool kScaled>
ORTHANT_ALWAYS_INLINE void hadamard_block(float* x, const float* signs, float scale) {
  Floats v[kVectors];
  ORTHANT_UNROLL
  for (std::size_t i = 0; i < kVectors; ++i) {
    load(v[i], x + kWidth * i);
    if (signs != nullptr) {
      Floats s;
      load(s, signs + kWidth * i);
      v[i] *= s;
    }
    butterflies_inside<1>(v[i]);
    butterflies_inside<2>(v[i]);
    butterflies_inside<4>(v[i]);
    butterflies_inside<8>(v[i]);
  }
  butterflies_between<kVectors, 1>(v);
  butterflies_between<kVectors, 2>(v);
  butterflies_between<kVectors, 4>(v);
  butterflies_between<kVectors, 8>(v);
  ORTHANT_UNROLL
  for (std::size_t i = 0; i < kVectors; ++i) {
    if constexpr (kScaled) v[i] *= scale;
    store(x + kWidth * i, v[i]);
  }
}

/// Fewer than kWidth elements, or butterflies beyond one block: distances from h on.
ORTHANT_ALWAYS_INLINE void butterflies_from(float* x, std::size_t n, std::size_t h) {
  for (; h < n; h *= 2)
    for (std::size_t block = 0; block < n; block += 2 * h)
      for (std::size_t j = block; j < block + h; ++j) {
        const float sum = x[j] + x[j + h];
        x[j + h] = x[j] - x[j + h];
        x[j] = sum;
      }
}

template <bool kScaled>
ORTHANT_ALWAYS_INLINE void hadamard_body(float* x, std::size_t n, const float* signs) {
  switch (n) {  // with 1 / sqrt(n) as a constant: a square root and a division take as long as half the butterflies
    case 16:
      return hadamard_block<1, kScaled>(x, signs, 0.25F);
    case 32:
      return hadamard_block<2, kScaled>(x, signs, static_cast<float>(0.25 / std::numbers::sqrt2));
    case 64:
      return hadamard_block<4, kScaled>(x, signs, 0.125F);
    case 128:
      return hadamard_block<8, kScaled>(x, signs, static_cast<float>(0.125 / std::numbers::sqrt2));
    case 256:
      return hadamard_block<16, kScaled>(x, signs, 0.0625F);
    default:
      break;
  }
  constexpr std::size_t kBlock = 16 * kWidth;
  if (n > kBlock) {
    for (std::size_t first = 0; first < n; first += kBlock)
      hadamard_block<16, false>(x + first, signs != nullptr ? signs + first : nullptr, 1);
    butterflies_from(x, n, kBlock);
  } else {
    for (std::size_t j = 0; signs != nullptr && j < n; ++j) x[j] *= signs[j];
    butterflies_from(x, n, 1);
  }
  if constexpr (!kScaled) return;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t j = 0; j < n; ++j) x[j] *= scale;
}

ORTHANT_ALWAYS_INLINE void butterflies_body(float* x, std::size_t n, std::size_t rows, std::size_t stride) {
  for (std::size_t r = 0; r < rows; ++r) hadamard_body<false>(x + r * stride, n, nullptr);
}

/// Halves added to halves.
ORTHANT_ALWAYS_INLINE float sum_of_lanes(const Floats& v) {
  Floats x = v;
  x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return x[0];
}

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
  // Results by reference: vectors wider than the portable target's registers have no agreed way of being returned.
  ORTHANT_ALWAYS_INLINE void turn(const T& c, const T& s, T& first, T& second, T& mean) const {
    first = first_cosine * c - first_sine * s;
    second = second_sine * s + second_cosine * c;
    mean = mean_cosine * c + mean_sine * s;
  }
};

template <std::size_t kRows>
ORTHANT_ALWAYS_INLINE void turn_rows(const float* q, std::size_t pairs, const float* scale, const float* mean,
                                     const TurnedRows& rows, std::size_t first_row) {
  const float* const phases = rows.phases + first_row * 2 * pairs;
  float* const out = rows.out + first_row * rows.out_stride;
  Floats sums[kRows] = {};
  std::size_t i = 0;
  for (; i + kWidth <= pairs; i += kWidth) {
    Floats a, b, f, g, m, n;
    load(a, q + i);
    load(b, q + pairs + i);
    load(f, scale + i);
    load(g, scale + pairs + i);
    load(m, mean + i);
    load(n, mean + pairs + i);
    const TurningPair<Floats> pair(a, b, f, g, m, n);
    ORTHANT_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      Floats c, s;
      load(c, phases + r * 2 * pairs + i);
      load(s, phases + r * 2 * pairs + pairs + i);
      Floats first, second, product;
      pair.turn(c, s, first, second, product);
      store(out + r * rows.out_stride + i, first);
      store(out + r * rows.out_stride + pairs + i, second);
      sums[r] += product;
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float sum = sum_of_lanes(sums[r]);
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

ORTHANT_ALWAYS_INLINE void turn_and_scale_body(const float* q, std::size_t pairs, const float* scale, const float* mean,
                                               const TurnedRows& rows) {
  std::size_t r = 0;
  for (; r + 4 <= rows.count; r += 4) turn_rows<4>(q, pairs, scale, mean, rows, r);
  for (; r < rows.count; ++r) turn_rows<1>(q, pairs, scale, mean, rows, r);
}

ORTHANT_ALWAYS_INLINE float dot_body(const float* a, const float* b, std::size_t n) {
  Floats first = {}, second = {};
  std::size_t j = 0;
  for (; j + 2 * kWidth <= n; j += 2 * kWidth) {
    Floats x, y;
    load(x, a + j);
    load(y, b + j);
    first += x * y;
    load(x, a + j + kWidth);
    load(y, b + j + kWidth);
    second += x * y;
  }
  float sum = sum_of_lanes(first + second);
  for (; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

// One set of functions for each instruction set, the bodies above inlined into them.
#define ORTHANT_WIDE_LOOPS(name, attribute)                                                                         \
  attribute void hadamard_##name(float* x, std::size_t n, const float* signs) { hadamard_body<true>(x, n, signs); } \
  attribute void butterflies_##name(float* x, std::size_t n, std::size_t rows, std::size_t stride) {                \
    butterflies_body(x, n, rows, stride);                                                                           \
  }                                                                                                                 \
  attribute void turn_and_scale_##name(const float* q, std::size_t pairs, const float* scale, const float* mean,    \
                                       const TurnedRows& rows) {                                                    \
    turn_and_scale_body(q, pairs, scale, mean, rows);                                                               \
  }                                                                                                                 \
  attribute float dot_##name(const float* a, const float* b, std::size_t n) { return dot_body(a, b, n); }           \
  constexpr WideLoops k_##name{hadamard_##name, butterflies_##name, turn_and_scale_##name, dot_##name};

ORTHANT_WIDE_LOOPS(portable, )
#if defined(__x86_64__)
ORTHANT_WIDE_LOOPS(avx2, __attribute__((target("avx2"))))
ORTHANT_WIDE_LOOPS(avx512, __attribute__((target("avx512f,avx512dq"))))
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

#include "transform/wide_loops.h"

#include <cmath>
#include <cstdint>
#include <cstring>

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
template <std::size_t kVectors>
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
    v[i] *= scale;
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

ORTHANT_ALWAYS_INLINE void hadamard_body(float* x, std::size_t n, const float* signs) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  switch (n) {
    case 16:
      return hadamard_block<1>(x, signs, scale);
    case 32:
      return hadamard_block<2>(x, signs, scale);
    case 64:
      return hadamard_block<4>(x, signs, scale);
    case 128:
      return hadamard_block<8>(x, signs, scale);
    case 256:
      return hadamard_block<16>(x, signs, scale);
    default:
      break;
  }
  constexpr std::size_t kBlock = 16 * kWidth;
  if (n > kBlock) {
    for (std::size_t first = 0; first < n; first += kBlock)
      hadamard_block<16>(x + first, signs != nullptr ? signs + first : nullptr, 1);
    butterflies_from(x, n, kBlock);
  } else {
    for (std::size_t j = 0; signs != nullptr && j < n; ++j) x[j] *= signs[j];
    butterflies_from(x, n, 1);
  }
  for (std::size_t j = 0; j < n; ++j) x[j] *= scale;
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

ORTHANT_ALWAYS_INLINE float turn_and_scale_body(const float* q, std::size_t pairs, const float* cosines,
                                                const float* sines, const float* scale, const float* weight,
                                                float* out) {
  Floats first_sum = {}, second_sum = {};
  std::size_t i = 0;
  for (; i + kWidth <= pairs; i += kWidth) {
    Floats a, b, c, s, factor, w;
    load(a, q + i);
    load(b, q + pairs + i);
    load(c, cosines + i);
    load(s, sines + i);
    load(factor, scale + i);
    const Floats first = factor * (a * c - b * s);
    load(factor, scale + pairs + i);
    const Floats second = factor * (a * s + b * c);
    load(w, weight + i);
    first_sum += first * w;
    load(w, weight + pairs + i);
    second_sum += second * w;
    store(out + i, first);
    store(out + pairs + i, second);
  }
  float sum = sum_of_lanes(first_sum + second_sum);
  for (; i < pairs; ++i) {
    const float a = q[i];
    const float b = q[pairs + i];
    out[i] = scale[i] * (a * cosines[i] - b * sines[i]);
    out[pairs + i] = scale[pairs + i] * (a * sines[i] + b * cosines[i]);
    sum += out[i] * weight[i] + out[pairs + i] * weight[pairs + i];
  }
  return sum;
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

ORTHANT_ALWAYS_INLINE void fill_body(float* x, std::size_t n, float value) {
  const Floats values = value - Floats{};
  std::size_t j = 0;
  for (; j + kWidth <= n; j += kWidth) store(x + j, values);
  for (; j < n; ++j) x[j] = value;
}

// One set of functions for each instruction set, the bodies above inlined into them.
#define ORTHANT_WIDE_LOOPS(name, attribute)                                                                          \
  attribute void hadamard_##name(float* x, std::size_t n, const float* signs) { hadamard_body(x, n, signs); }        \
  attribute float turn_and_scale_##name(const float* q, std::size_t pairs, const float* cosines, const float* sines, \
                                        const float* scale, const float* weight, float* out) {                       \
    return turn_and_scale_body(q, pairs, cosines, sines, scale, weight, out);                                        \
  }                                                                                                                  \
  attribute float dot_##name(const float* a, const float* b, std::size_t n) { return dot_body(a, b, n); }            \
  attribute void fill_##name(float* x, std::size_t n, float value) { fill_body(x, n, value); }                       \
  constexpr WideLoops k_##name{hadamard_##name, turn_and_scale_##name, dot_##name, fill_##name};

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

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Vectors of the compiler's own, as wide as a register of the function around them, so that one body serves every
// instruction set. Wider ones are taken apart by the compiler, their shuffles lane by lane: ten times slower.
#define ORTHANT_ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define ORTHANT_UNROLL _Pragma("unroll")
#else
#define ORTHANT_UNROLL _Pragma("GCC unroll 16")
#endif

namespace orthant::transform {

// Floats in a register.
inline constexpr std::size_t kWidthPortable = 4;
inline constexpr std::size_t kWidthAvx2 = 8;
inline constexpr std::size_t kWidthAvx512 = 16;

/// One by one: GCC 12 ignores a vector size that depends on a template argument.
template <std::size_t kWidth>
struct WideVector;
template <>
struct WideVector<4> {
  using Floats = float __attribute__((vector_size(16)));
  using Words = std::int32_t __attribute__((vector_size(16)));
};
template <>
struct WideVector<8> {
  using Floats = float __attribute__((vector_size(32)));
  using Words = std::int32_t __attribute__((vector_size(32)));
};
template <>
struct WideVector<16> {
  using Floats = float __attribute__((vector_size(64)));
  using Words = std::int32_t __attribute__((vector_size(64)));
};
template <std::size_t kWidth>
using Floats = typename WideVector<kWidth>::Floats;

/// By reference: vectors wider than the portable target's registers have no agreed way of being passed.
template <class Vector>
ORTHANT_ALWAYS_INLINE void load(Vector& v, const float* from) {
  std::memcpy(&v, from, sizeof v);
}
template <class Vector>
ORTHANT_ALWAYS_INLINE void store(float* to, const Vector& v) {
  std::memcpy(to, &v, sizeof v);
}

/// Lane l of v becomes lane l ^ kDistance of the result.
template <std::size_t kDistance, class Vector>
ORTHANT_ALWAYS_INLINE void exchange(Vector& to, const Vector& v) {
  constexpr auto kFar = [](std::size_t lane) { return static_cast<int>(lane ^ kDistance); };
  if constexpr (sizeof v == 16) {
    to = __builtin_shufflevector(v, v, kFar(0), kFar(1), kFar(2), kFar(3));
  } else if constexpr (sizeof v == 32) {
    to = __builtin_shufflevector(v, v, kFar(0), kFar(1), kFar(2), kFar(3), kFar(4), kFar(5), kFar(6), kFar(7));
  } else {
    to = __builtin_shufflevector(v, v, kFar(0), kFar(1), kFar(2), kFar(3), kFar(4), kFar(5), kFar(6), kFar(7), kFar(8),
                                 kFar(9), kFar(10), kFar(11), kFar(12), kFar(13), kFar(14), kFar(15));
  }
}

}  // namespace orthant::transform

#pragma once

// ORTHANT_BEGIN_TARGET(features) ... ORTHANT_END_TARGET: functions in between may use the instructions of these
// features, whatever the file's own flags. A -m flag would leak into every inline function of every included header.
// Include all shared headers before a region.
#define ORTHANT_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define ORTHANT_BEGIN_TARGET(features) \
  ORTHANT_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define ORTHANT_END_TARGET ORTHANT_PRAGMA(clang attribute pop)
#define ORTHANT_UNROLL ORTHANT_PRAGMA(unroll)
#else
#define ORTHANT_BEGIN_TARGET(features) ORTHANT_PRAGMA(GCC push_options) ORTHANT_PRAGMA(GCC target(features))
#define ORTHANT_END_TARGET ORTHANT_PRAGMA(GCC pop_options)
#define ORTHANT_UNROLL ORTHANT_PRAGMA(GCC unroll 16)
#endif
#define ORTHANT_INLINE inline __attribute__((always_inline))

// ORTHANT_PORTABLE, defined before this header: no instruction set to serve, so inlining and unrolling stay with the
// compiler.
#if defined(ORTHANT_PORTABLE)
#undef ORTHANT_UNROLL
#undef ORTHANT_INLINE
#define ORTHANT_UNROLL
#define ORTHANT_INLINE inline
#endif

#pragma once

#include <gtest/gtest.h>

#include <cmath>

/// The agreement asked of every bound: 1e-10 relative (the golden values carry 12 digits or more).
inline void expect_close(double got, double want, double relative = 1e-10) {
  EXPECT_NEAR(got, want, relative * std::abs(want));
}

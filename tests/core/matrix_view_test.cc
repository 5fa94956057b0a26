#include "orthant/core/matrix_view.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace orthant {
namespace {

TEST(Matrix, BeginsAtACacheLineAndIsZero) {
  for (const std::size_t cols : {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{100000}}) {
    const Matrix<float> m(3, cols);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.data()) % 64, 0U) << cols;
    for (const float x : m.row(2)) EXPECT_EQ(x, 0.0F);
  }
}

TEST(Matrix, PartsAreViewsOfTheSameEntries) {
  Matrix<int> m(4, 5);
  m(2, 3) = 7;
  const MatrixView<int> part = m.view().middle_rows(1, 2).middle_cols(2, 3);
  EXPECT_EQ(part(1, 1), 7);
  EXPECT_EQ(part.rows(), 2U);
  EXPECT_EQ(part.cols(), 3U);
  EXPECT_EQ(part.stride(), 5U);
  part(0, 0) = 9;
  EXPECT_EQ(m(1, 2), 9);
}

}  // namespace
}  // namespace orthant

#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "orthant/core/cache_line_allocator.h"

namespace orthant {

/// Non-owning row-major matrix: element (i, j) lies at data[i * stride + j], stride >= cols. T may be const.
/// Copying a view copies no elements; a view is valid as long as what it looks at.
template <class T>
class MatrixView {
 public:
  constexpr MatrixView() = default;
  constexpr MatrixView(T* data, std::size_t rows, std::size_t cols) : MatrixView(data, rows, cols, cols) {}
  constexpr MatrixView(T* data, std::size_t rows, std::size_t cols, std::size_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {
    assert(stride >= cols);
  }
  /// A view of non-const elements is also a view of const ones.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<const U, T>) constexpr MatrixView(
      MatrixView<U> other)  // NOLINT(google-explicit-constructor)
      : MatrixView(other.data(), other.rows(), other.cols(), other.stride()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t rows() const { return rows_; }
  constexpr std::size_t cols() const { return cols_; }
  constexpr std::size_t stride() const { return stride_; }
  /// True when rows follow each other without a gap.
  constexpr bool contiguous() const { return stride_ == cols_ || rows_ <= 1; }

  constexpr std::span<T> row(std::size_t i) const {
    assert(i < rows_);
    return {data_ + i * stride_, cols_};
  }
  constexpr T& operator()(std::size_t i, std::size_t j) const {
    assert(i < rows_ && j < cols_);
    return data_[i * stride_ + j];
  }
  /// Rows first, first + 1, ..., first + count - 1.
  constexpr MatrixView middle_rows(std::size_t first, std::size_t count) const {
    assert(first + count <= rows_);
    return {data_ + first * stride_, count, cols_, stride_};
  }
  /// Columns first, ..., first + count - 1 of every row.
  constexpr MatrixView middle_cols(std::size_t first, std::size_t count) const {
    assert(first + count <= cols_);
    return {data_ + first, rows_, count, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
};

/// Owning row-major matrix without gaps, zero-initialised; its first entry lies at the start of a cache line.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols) : values_(rows * cols), rows_(rows), cols_(cols) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  MatrixView<T> view() { return {values_.data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {values_.data(), rows_, cols_}; }
  std::span<T> row(std::size_t i) { return view().row(i); }
  std::span<const T> row(std::size_t i) const { return view().row(i); }
  T& operator()(std::size_t i, std::size_t j) { return view()(i, j); }
  const T& operator()(std::size_t i, std::size_t j) const { return view()(i, j); }

 private:
  std::vector<T, CacheLineAllocator<T>> values_;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

}  // namespace orthant

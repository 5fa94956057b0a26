#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/value_cache.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"
#include "orthant/quantizer/turbo_mse.h"

namespace orthant::kernels {
struct KernelTable;  // private
struct CodeSearch;
}  // namespace orthant::kernels

namespace orthant::cache {

/// Rows from floats into a cache: rotate, normalise, quantize and pack, 48 rows at a time.
///
/// Codes and scales are those of the quantizer (any scale rule), up to float rounding where it works in double: a
/// coordinate within 2^-20 of a threshold may fall to the other side of it, a scale may differ by 2^-20 relative, which
/// its half-precision rounding hides but for ties. Rows whose square overflows or underflows in float go through the
/// quantizer itself. A Haar rotation of up to 512 dims runs in the instruction set of the
/// target, each row by itself: its codes do not depend on the rows beside it. Rows with a NaN or an infinity, or a
/// scale that does not fit half precision, throw InvalidArgument. When the cache keeps exact windows, it gets the
/// rotated rows.
///
/// Immutable; calls may run concurrently, each with its own Workspace and its own cache.
class RowEncoder {
 public:
  /// target: as in CacheOptions. Throws InvalidArgument for a quantizer of 0 bits.
  explicit RowEncoder(std::shared_ptr<const quantizer::TurboMse> quantizer, const std::string& target = {});

  /// What caches for these rows are made of: the quantizer's centroids, one scale.
  RowFormat format() const;
  const quantizer::TurboMse& quantizer() const { return *quantizer_; }
  std::size_t workspace_bytes() const;

  /// x: (n, d) -> codes: (n, d), scales: (n, 1), y: (n, d) the rotated rows.
  void encode(const MatrixView<const float>& x, const MatrixView<std::uint8_t>& codes, const MatrixView<float>& scales,
              const MatrixView<float>& y, Workspace& work) const;

  /// Appends n rows, or throws before the first of them is stored. The cache must have been made with format(). Does
  /// not allocate unless the cache grows.
  void append(const MatrixView<const float>& x, KeyCache& cache, Workspace& work) const;
  void append(const MatrixView<const float>& x, ValueCache& cache, Workspace& work) const;

 private:
  static constexpr std::size_t kBlock = 48;  // whole runs of the six rows that kernels multiply together

  void rotate(const MatrixView<const float>& x, const MatrixView<float>& y, Workspace& work) const;
  /// Throws as encode would.
  void require_storable(const MatrixView<const float>& x, Workspace& work) const;
  template <class Cache>
  void append_blocks(const MatrixView<const float>& x, Cache& cache, Workspace& work) const;

  std::shared_ptr<const quantizer::TurboMse> quantizer_;
  const kernels::KernelTable* table_;  // of the target
  std::vector<float> matrix_;          // of a Haar rotation, as kernels take it
  std::shared_ptr<const kernels::CodeSearch> search_;
};

}  // namespace orthant::cache

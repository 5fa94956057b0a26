#pragma once

#include <cstddef>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::transform {

enum class DenseSide { kMatrix, kTranspose };

/// out_i = m in_i (kMatrix) or m^T in_i (kTranspose) for every row, m (d, d), in and out (n, d), through OpenBLAS
/// sgemm. Rows go in blocks of one fixed shape, so the bits of out_i depend on in_i alone. in and out may be the same
/// memory. Takes dense_workspace_bytes(d); does not allocate.
void apply_dense(const Matrix<float>& m, DenseSide side, MatrixView<const float> in, MatrixView<float> out,
                 Workspace& work);
std::size_t dense_workspace_bytes(std::size_t dim);

/// Sets OpenBLAS to one thread, for the whole process, once: parallel loops are the caller's.
void use_one_blas_thread();

}  // namespace orthant::transform

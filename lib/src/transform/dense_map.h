#pragma once

#include <cstddef>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::transform {

/// out_r = m in_r for every row, from the transposed matrix t = m^T: (d, d); in and out: (n, d), which may be the same
/// memory. Takes dense_workspace_bytes(d); does not allocate.
///   out_rj = sum_i t_ij in_ri,  one product and one sum after the other, i = 0, 1, ..., each rounded to float
/// so the bits of a row depend on it alone: not on the rows around it, its place among them, the vector width or the
/// machine. (A BLAS promises none of this: its edge kernels sum in another order.)
void apply_dense(const Matrix<float>& t, MatrixView<const float> in, MatrixView<float> out, Workspace& work);
std::size_t dense_workspace_bytes(std::size_t dim);

Matrix<float> transposed(const Matrix<float>& m);

}  // namespace orthant::transform

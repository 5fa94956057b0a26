#pragma once

#include <string>

#include "orthant/core/matrix_view.h"

namespace orthant::validation {

/// How many independent vectors n nonzero rows are worth when one rotation R codes them all.
///
/// The error of a row is a sum of even functions of the coordinates of R x. Under a common R the errors of two rows of
/// cosine c covary like c^4: odd terms vanish by sign, and the term in c^2 because sum_j (R x)_j^2 = 1. Uniform rows
/// are independent nevertheless (R moves nothing), and their mean c^4 is 3/(d(d+2)); what a sample of pairs has beyond
/// that counts:
///   n / (1 + (n - 1) e),   e = max(0, mean c^4 - 3/(d(d+2)) (1 + tolerance))
/// Keys of attention layers, which point into similar directions, may be worth one or two vectors.
double independent_rows(MatrixView<const float> rows);

/// The remark that goes with few independent rows.
std::string concentrated_rows(double independent);

}  // namespace orthant::validation

#pragma once

#include <algorithm>
#include <vector>

#include "orthant/core/workspace.h"
#include "orthant/quantizer/vector_quantizer.h"
#include "orthant/validation/test_vectors.h"

namespace orthant::validation {

/// Rows coded by one quantizer: what a trial looks at.
class CodedRows {
 public:
  CodedRows(const quantizer::VectorQuantizer& quantizer, MatrixView<const float> x)
      : quantizer_(quantizer),
        x_(x),
        work_(quantizer.workspace_bytes(x.rows())),
        packed_(x.rows(), quantizer.bytes_per_vector()) {
    quantizer.encode(x, packed_.view(), work_);
  }

  Matrix<float> decoded() {
    Matrix<float> x_hat(x_.rows(), x_.cols());
    quantizer_.decode(packed_.view(), x_hat.view(), work_);
    return x_hat;
  }

  /// The method's estimate of <query, x_0> minus the inner product of the two float vectors.
  double error(std::span<const float> query) {
    std::vector<float> estimates(x_.rows());
    quantizer_.estimate(query, packed_.view(), estimates, work_);
    return static_cast<double>(estimates[0]) - dot(query, x_.row(0));
  }

 private:
  const quantizer::VectorQuantizer& quantizer_;
  MatrixView<const float> x_;
  Workspace work_;
  Matrix<std::uint8_t> packed_;
};

}  // namespace orthant::validation

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orthant/core/matrix_view.h"

namespace orthant::validation {

/// Judges any implementation by what it puts out. Isotropic or randomly rotated data are assumed, as the methods do.
/// Measured means come with +- 5 standard errors over the vectors: a comparison with the truth goes wrong with
/// probability 6e-7 when vectors are independent. Vectors that point into similar directions share the luck of the one
/// rotation that codes them: they count as fewer (lib/src/validation/dependence.h), the intervals are wider, and a
/// remark says so. Beyond that a fault must exceed what its check names as tolerable.

/// One measured number beside the values that would be right.
struct Measurement {
  std::string name;
  double value = 0;
  double half_width = 0;           ///< 5 standard errors; 0 for a count or a maximum
  std::optional<double> expected;  ///< of a correct implementation, when there is one number
  std::string note;
};

struct Finding {
  bool fault = false;  ///< otherwise a remark: what kind of method this is
  std::string id;      ///< "level-scale", "directions", "tail", ...
  std::string text;    ///< what was expected, what was measured, the likely cause
};

struct AuditResult {
  int bits = 0;  ///< given or inferred
  std::vector<Measurement> measurements;
  std::vector<Finding> findings;
  bool faulty() const;
};

struct DecodedOptions {
  std::optional<int> bits;     ///< bits a coordinate; inferred from the directions when missing
  std::size_t dim = 0;         ///< coordinates that were normalised and coded together; 0: the whole row
  std::string name = "x_hat";  ///< of what is judged, in messages: a file
};

/// Reconstructions x_hat of the rows of x: distortion against the optimum and the converse, scale rule, tails. Names:
///   level-scale   levels of another unit (unit variance on unit vectors; another block's 1/sqrt(d); sqrt(2) off)
///   directions    codes worse than the best uniform grid, or that hold fewer bits than they should
///   tail          vectors coded far worse than the law of the error allows (rotation drawn from the data's seed, too
///   few
///                 rounds of a structured rotation)
///   converse      better than any code of that many bits: more bits are in use
///   length        a remark: good codes, all of them too long or too short by more than 2 %, to no known purpose
///   lost          nonzero vectors decoded to zero;   not-finite   NaN or infinite coordinates
/// Throws InvalidArgument for bits outside 1 to 8 or a dim that does not divide the columns or is below 8, InvalidInput
/// on a shape mismatch or fewer than 100 nonzero vectors.
AuditResult audit_decoded(MatrixView<const float> x, MatrixView<const float> x_hat, const DecodedOptions& options);

struct EstimatorOptions {
  std::optional<int> bits;      ///< total bits a coordinate; inferred when missing
  std::string name = "scores";  ///< of what is judged, in messages: a file
};

/// Estimated inner products of queries (m, d) and keys (n, d), scores (m, n). The regression of scores on the true
/// products has slope 1 for an unbiased method; V = d Var of what remains, relative to |q|^2 |k|^2. Both are compared
/// with the laws of TurboQuant_mse and _prod (Gaussian and orthogonal sketch), unbiased codes, and with the signatures
/// of known faults:
///   sketch-constant   orthonormal sketch with the Gaussian constant sqrt(pi/2)/d: its correction is sqrt(d) too small
///   sketch-inert      the sketch adds nothing: slope 1 - D_{b-1}
///   slope, variance   biased, or noisier than any of the laws, for no known reason
///   converse          less noise than any code of the bits given allows on isotropic keys: the scores know more
/// Throws InvalidArgument for bits outside 1 to 8; InvalidInput on a shape mismatch, fewer than 100 keys, 8 coordinates
/// or a query, and when every true product is zero.
AuditResult audit_estimator(MatrixView<const float> queries, MatrixView<const float> keys,
                            MatrixView<const float> scores, const EstimatorOptions& options);

}  // namespace orthant::validation

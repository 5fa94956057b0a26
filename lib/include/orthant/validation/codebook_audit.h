#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orthant::validation {

/// A table of quantizer levels as somebody wrote it down. Nothing is assumed of it.
struct CodebookTable {
  std::vector<double> centroids;
  std::vector<double> boundaries;  ///< thresholds, or empty: then midpoints are meant
  std::optional<std::int64_t>
      dim;                  ///< the d of S^{d-1} it is used on; 0: N(0, 1); absent: found from the table's scale
  std::optional<int> bits;  ///< absent: from the number of levels
};

enum class CodebookFault {
  kCount,         ///< not 2^bits levels
  kNotFinite,     ///< a NaN or an infinity
  kUnsorted,      ///< levels not in ascending order
  kDuplicate,     ///< a level that occurs twice
  kEmptyCell,     ///< a level that no input reaches
  kAsymmetric,    ///< the law is symmetric, the table is not
  kScale,         ///< the shape fits another dimension, or unit variance
  kWrongLaw,      ///< the Gaussian's table where the sphere's is meant
  kNotConverged,  ///< not a stationary point
  kThresholds,    ///< thresholds that are not the midpoints
};
/// "scale", "not converged", ...
std::string to_string(CodebookFault fault);

struct CodebookFinding {
  CodebookFault fault;
  std::string text;  ///< one sentence with the numbers
};

/// What the table does on its law, beside the optimum. Distortions are relative: d E (X - c(X))^2.
struct CodebookAudit {
  std::int64_t dim = 0;  ///< judged on S^{dim-1}; 0: N(0, 1)
  bool dim_inferred = false;
  int bits = 0;
  double tolerance = 0;    ///< how far that level may be from the optimum, given how the table is written
  std::string written_as;  ///< "3 decimals", "single precision", ...
  double distortion = 0;   ///< with the table's own thresholds, if it has any
  double optimal_distortion = 0;
  double excess = 0;                ///< distortion / optimal_distortion - 1
  double residual = 0;              ///< max_k |c_k - E[X | cell k]| / standard deviation
  double largest_error = 0;         ///< |c_k - optimal c_k| / standard deviation, at the k of least allowance left
  double best_scale = 1;            ///< factor on the levels that minimises distortion
  std::optional<int> lloyd_sweeps;  ///< sweeps from equal-probability quantiles that reach this distortion
  std::vector<CodebookFinding> findings;

  bool correct() const { return findings.empty(); }
};

inline constexpr std::size_t kMostLevels = 1024;

/// Judges a table against the optimal codebook of its law. A table is correct when every level is the optimum's within
/// the rounding of the format it is written in (the coarsest of decimals, significant digits, bfloat16, half and single
/// precision that holds all its values), or within four units of single precision; so a correct table is never accused
/// for how it was printed. Everything else is named. Throws InvalidArgument for an empty table, more than kMostLevels,
/// or a dim out of range.
CodebookAudit audit_codebook(const CodebookTable& table);

}  // namespace orthant::validation

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orthant/montecarlo/workers.h"
#include "orthant/validation/subject.h"

namespace orthant::validation {

/// The data behind figures 1 to 3 of the TurboQuant paper (arXiv 2504.19874): errors of inner products by method, bits
/// and cosine, and distortions beside their bounds.
///
/// The paper took its pairs from a data set of text embeddings. Under a random rotation the law of the error depends on
/// a pair through its cosine alone, so uniform pairs of the cosines that the paper names have the same law.
struct FigureOptions {
  std::size_t dim = 1536;
  std::vector<int> bits = {1, 2, 3, 4, 5};
  std::vector<double> cosines = {0.01, 0.06, 0.10, 0.17};  ///< the groups of figure 2
  std::uint64_t seed = 1;
  std::size_t seeds = 4;   ///< independent sketches
  std::size_t keys = 256;  ///< of each seed; one query of each cosine for each
  SubjectMaker subject = shipped_subjects();
};

/// One method at one rate, over all cosines; of unit vectors.
struct FigureRow {
  std::string method;
  int bits = 0;
  double distortion = 0;           ///< |x - x_hat|^2
  double product_error = 0;        ///< (estimate - <x, q>)^2
  double distortion_upper = 0;     ///< Theorem 1
  double distortion_lower = 0;     ///< 4^-b, as printed
  double distortion_converse = 0;  ///< as it is true
  double product_upper = 0;        ///< Theorem 2
  double product_lower = 0;        ///< 4^-b / d, as printed
};

/// Errors of one method, rate and cosine: moments, and how many fell into each of kErrorBins equal bins of
/// [-range, range]; the end bins also hold what lies beyond.
inline constexpr std::size_t kErrorBins = 41;
struct ErrorDistribution {
  std::string method;
  int bits = 0;
  double cosine = 0;
  double mean = 0;
  double variance = 0;
  double range = 0;
  std::vector<std::uint64_t> counts;
};

struct Figures {
  std::vector<FigureRow> rows;
  std::vector<ErrorDistribution> errors;
};

/// TurboQuant_mse and TurboQuant_prod (Gaussian sketch) at every rate. Same bytes for any workers. `progress` is called
/// on the root with the number of (method, rate) pairs done and all. Throws InvalidArgument for no bits, cosines, seeds
/// or keys, bits outside 1 to 8 and cosines outside [-1, 1].
Figures run_figures(const FigureOptions& options, montecarlo::Workers& workers,
                    const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace orthant::validation

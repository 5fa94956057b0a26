#include "codebook_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "number_file.h"
#include "orthant/codebook/certificate.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/codebook/weighted_levels.h"
#include "orthant/core/error.h"
#include "orthant/core/version.h"
#include "orthant/density/gaussian.h"
#include "orthant/density/laplace.h"
#include "orthant/density/sphere_coordinate.h"
#include "orthant/density/truncated_gaussian.h"

namespace orthant::apps {
namespace {

constexpr std::string_view kGaussian = "gaussian:";
constexpr std::string_view kSamples = "samples:";

density::TruncatedGaussian parsed_gaussian(const std::string& text) {
  const auto refuse = [&](std::string_view got) {
    throw_invalid_argument("codebook --density " + text, "numbers", got,
                           "gaussian:MEAN,SIGMA or gaussian:MEAN,SIGMA,LOW,HIGH, SIGMA > 0, LOW < HIGH");
  };
  NumberFile numbers;
  try {
    numbers = parse_numbers(text.substr(kGaussian.size()), "--density");
  } catch (const InvalidInput&) {
    refuse("something else");
  }
  const std::vector<double>& x = numbers.rows.front();
  if (numbers.rows.size() != 1 || (x.size() != 2 && x.size() != 4)) refuse(std::to_string(x.size()));
  const double infinity = std::numeric_limits<double>::infinity();
  try {
    return x.size() == 2 ? density::TruncatedGaussian(x[0], x[1], -infinity, infinity)
                         : density::TruncatedGaussian(x[0], x[1], x[2], x[3]);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("codebook --density " + text + ": " + error.what());
  }
}

/// The best levels; a point or weight that no law has is the file's fault.
codebook::WeightedLevels levels_of(const std::string& path, std::span<const double> points,
                                   std::span<const double> weights, std::size_t levels) {
  try {
    return codebook::optimal_levels(points, weights, levels);
  } catch (const InvalidArgument& error) {
    throw InvalidInput(path + ": " + error.what());
  }
}

codebook::CodebookFile from_samples(const std::string& path, int bits) {
  if (path.empty()) throw InvalidArgument("codebook --density samples: names no file, expected samples:FILE");
  const NumberFile file = read_numbers(path);
  std::vector<double> points;
  std::vector<double> weights;
  const bool weighted = file.rows.size() > 1 && file.rows.front().size() == 2;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const std::vector<double>& row = file.rows[i];
    if (weighted && row.size() != 2) {
      throw_invalid_input(path, fmt::format("row {}", i), fmt::format("{} numbers", row.size()),
                          "a value and its weight");
    }
    if (weighted) {
      points.push_back(row[0]);
      weights.push_back(row[1]);
    } else {
      points.insert(points.end(), row.begin(), row.end());
    }
  }
  const std::size_t levels = std::size_t{1} << bits;
  const codebook::WeightedLevels best = levels_of(path, points, weights, levels);
  if (best.centroids.size() < levels) {
    throw_invalid_input(path, "distinct points", std::to_string(best.centroids.size()),
                        fmt::format("at least {}, the levels of {} bits", levels, bits));
  }
  codebook::Codebook book(fmt::format("samples {}", std::filesystem::path(path).filename().string()), 0, bits,
                          best.centroids, best.distortion, 0);
  std::vector<double> probabilities(levels, 0.0);
  std::vector<double> sums(levels, 0.0);
  double total = 0;
  double mean = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double w = weighted ? weights[i] : 1;
    probabilities[book.code(points[i])] += w;
    sums[book.code(points[i])] += w * points[i];
    total += w;
    mean += w * points[i];
  }
  mean /= total;
  double variance = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    variance += (weighted ? weights[i] : 1) * (points[i] - mean) * (points[i] - mean) / total;
  }
  double entropy = 0;
  double residual = 0;
  for (std::size_t k = 0; k < levels; ++k) {
    if (probabilities[k] > 0) {
      residual = std::max(residual, std::abs(sums[k] / probabilities[k] - book.centroids()[k]) / std::sqrt(variance));
      entropy -= probabilities[k] / total * std::log2(probabilities[k] / total);
    }
    probabilities[k] /= total;
  }
  book = codebook::Codebook(book.density(), 0, bits, best.centroids, best.distortion,
                            std::clamp(entropy, 0.0, static_cast<double>(bits)));
  return {
      std::move(book), std::move(probabilities), levels > 1 ? residual : 0, fmt::format("orthant {}", version()), {}};
}

}  // namespace

bool with_density(const CodebookLaw& law, const std::function<void(density::DensityView)>& body) {
  const bool sphere = law.density == "sphere";
  if (sphere && law.dim == 0) throw InvalidArgument("codebook: --dim is missing, expected the d of the sphere S^(d-1)");
  if (!sphere && law.dim != 0) {
    throw_invalid_argument("codebook", "--dim", std::to_string(law.dim), "none: only the sphere has a dimension");
  }
  if (sphere) {
    body(density::SphereCoordinate(law.dim));
  } else if (law.density == "gaussian") {
    body(density::Gaussian());
  } else if (law.density == "laplace") {
    body(density::Laplace());
  } else if (law.density.starts_with(kGaussian)) {
    body(parsed_gaussian(law.density));
  } else if (law.density.starts_with(kSamples)) {
    return false;
  } else {
    throw_invalid_argument("codebook --density", "law", law.density,
                           "sphere, gaussian, gaussian:MEAN,SIGMA[,LOW,HIGH], laplace or samples:FILE");
  }
  return true;
}

codebook::CodebookFile solve_codebook(const CodebookLaw& law, int bits) {
  if (law.density == "gaussian" && law.dim == 0) return codebook::optimal_codebook(0, bits);
  if (law.density == "sphere" && law.dim != 0) return codebook::optimal_codebook(law.dim, bits);
  std::optional<codebook::CodebookFile> file;
  const bool is_density = with_density(law, [&](density::DensityView density) {
    const codebook::LloydMaxResult result = codebook::lloyd_max(density, {.bits = bits});
    if (result.termination != codebook::Termination::kConverged) {
      throw Error(
          fmt::format("codebook: the solver stopped at a residual of {:.1e} standard deviations", result.residual));
    }
    file = codebook::to_file(result);
  });
  return is_density ? *std::move(file) : from_samples(law.density.substr(kSamples.size()), bits);
}

}  // namespace orthant::apps

#include "orthant/codebook/certificate.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

#include "codebook/extended_solve.h"
#include "codebook/proof.h"
#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/version.h"

namespace orthant::codebook {
namespace {

/// Below this residual, Newton's method starts inside the basin of the optimum it was made for.
constexpr double kNearAnOptimum = 1e-6;

double residual(std::int64_t dim, const Codebook& book) {
  if (dim == 0) return centroid_residual(density::Gaussian(), book);
  return centroid_residual(density::SphereCoordinate(dim), book);
}

LloydMaxResult solve(std::int64_t dim, int bits) {
  if (dim == 0) return lloyd_max(density::Gaussian(), {.bits = bits});
  return lloyd_max(density::SphereCoordinate(dim), {.bits = bits});
}

/// One level, or the two-point law: quotients of integers, which division rounds correctly.
ProvedNumbers closed_form(std::int64_t dim, int bits) {
  ProvedNumbers numbers;
  const int n = 1 << bits;
  const int span = n == 1 ? 1 : n - 1;
  for (int k = 0; k < n; ++k) {
    numbers.centroids.push_back(static_cast<double>(2 * k + 1 - n) / span);
    if (k > 0) numbers.boundaries.push_back(static_cast<double>(2 * k - n) / span);
    numbers.probabilities.push_back(n == 1 ? 1.0 : (k == 0 || k == n - 1 ? 0.5 : 0.0));
  }
  numbers.distortion = n == 1 ? (dim == 0 ? 1.0 : 1.0 / static_cast<double>(dim)) : 0.0;
  numbers.entropy = n == 1 ? 0 : 1;
  numbers.certificate = {0, 0, n == 1 && dim > 1 ? fmt::format("1/{}", dim) : fmt::format("{}", numbers.distortion),
                         fmt::format("{}", numbers.entropy),
                         n == 1 ? "one level: the mean" : "two atoms: levels on both have distortion 0"};
  return numbers;
}

ProvedNumbers numbers_of(std::int64_t dim, int bits, std::span<const double> centroids) {
  if (bits == 0 || dim == 1) return closed_form(dim, bits);
  return prove(dim, centroids.subspan(centroids.size() / 2));
}

void compare(std::vector<std::string>& faults, const std::string& what, double got, double proved) {
  if (got == proved) return;
  faults.push_back(fmt::format("{}: {:.17g} ({:a}), the nearest double to the optimum is {:.17g} ({:a})", what, got,
                               got, proved, proved));
}

void compare(std::vector<std::string>& faults, const std::string& what, std::span<const double> got,
             std::span<const double> proved) {
  for (std::size_t k = 0; k < proved.size(); ++k) compare(faults, fmt::format("{}[{}]", what, k), got[k], proved[k]);
}

void compare(std::vector<std::string>& faults, const Certificate& got, const Certificate& proved) {
  const auto same = [&](const char* field, const std::string& a, const std::string& b) {
    if (a != b) faults.push_back(fmt::format("certificate.{}: {}, proved {}", field, a, b));
  };
  same("digits", std::to_string(got.digits), std::to_string(proved.digits));
  same("radius", fmt::format("{:g}", got.radius), fmt::format("{:g}", proved.radius));
  same("distortion", got.distortion, proved.distortion);
  same("entropy", got.entropy, proved.entropy);
  same("uniqueness", got.uniqueness, proved.uniqueness);
}

}  // namespace

CodebookFile certified_codebook(std::int64_t dim, int bits) {
  const LloydMaxResult solved = solve(dim, bits);
  ProvedNumbers proved = numbers_of(dim, bits, solved.codebook.centroids());
  Codebook book(solved.codebook.density(), dim, bits, std::move(proved.centroids), std::move(proved.boundaries),
                proved.distortion, proved.entropy);
  const double left = residual(dim, book);
  return {std::move(book), std::move(proved.probabilities), left, fmt::format("orthant {}", version()),
          std::move(proved.certificate)};
}

CodebookFile optimal_codebook(std::int64_t dim, int bits) {
  if (proofs_available()) return certified_codebook(dim, bits);
  CodebookFile file = to_file(solve(dim, bits));
  if (bits == 0 || dim == 1) return file;
  RoundedSolution rounded = rounded_solve(dim, file.codebook.centroids().subspan(file.codebook.size() / 2));
  file.codebook = Codebook(file.codebook.density(), dim, bits, std::move(rounded.centroids),
                           std::move(rounded.boundaries), rounded.distortion, rounded.entropy);
  file.probabilities = std::move(rounded.probabilities);
  file.residual = residual(dim, file.codebook);
  return file;
}

std::vector<std::string> faults(const CodebookFile& file) {
  const Codebook& book = file.codebook;
  const bool gaussian = book.density() == "gaussian" && book.dim() == 0;
  const bool sphere = book.density() == "sphere" && book.dim() >= 1;
  if (!gaussian && !sphere) {
    throw_invalid_argument("codebook proof", "density", fmt::format("{} with dim {}", book.density(), book.dim()),
                           "sphere with dim 1 or more, or gaussian with dim 0");
  }
  if (book.bits() > 10) throw_invalid_argument("codebook proof", "bits", std::to_string(book.bits()), "0 to 10");
  const double left = residual(book.dim(), book);
  if (!(left <= kNearAnOptimum)) {
    return {fmt::format("not an optimum: a centroid lies {:.1e} standard deviations from the mean of its cell", left)};
  }
  const ProvedNumbers proved = numbers_of(book.dim(), book.bits(), book.centroids());
  std::vector<std::string> found;
  compare(found, "centroids", book.centroids(), proved.centroids);
  compare(found, "boundaries", book.boundaries(), proved.boundaries);
  compare(found, "probabilities", file.probabilities, proved.probabilities);
  compare(found, "distortion", book.distortion(), proved.distortion);
  compare(found, "entropy", book.entropy(), proved.entropy);
  // Written with two digits, and itself at the edge of what extended precision resolves.
  if (!(std::abs(file.residual - left) <= 0.1 * left)) {
    found.push_back(fmt::format("residual: {:.1e}, measured {:.1e}", file.residual, left));
  }
  if (file.certificate) {
    compare(found, *file.certificate, proved.certificate);
  } else {
    found.emplace_back("certificate: none");
  }
  return found;
}

}  // namespace orthant::codebook

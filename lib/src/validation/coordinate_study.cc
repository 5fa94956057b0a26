#include <algorithm>
#include <cmath>
#include <memory>

#include "orthant/bounds/coordinate_law.h"
#include "orthant/core/workspace.h"
#include "validation/studies.h"

namespace orthant::validation {
namespace {

/// The quantiles j/(n+1) of the law, j = 1..n.
std::vector<double> quantiles(const bounds::CoordinateLaw& law, std::size_t n) {
  std::vector<double> all;
  double low = -1;
  for (std::size_t j = 1; j <= n; ++j) {
    const double p = static_cast<double>(j) / static_cast<double>(n + 1);
    double high = 1;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (law.cdf(middle) < p ? low : high) = middle;
    }
    all.push_back(high);
    low = high;
  }
  return all;
}

}  // namespace

// Each trial rotates one fixed vector by a fresh rotation. The fraction F_n of the d coordinates below a threshold has
// mean F, whatever the dependence between coordinates. Both increase, so between neighbouring quantiles they differ by
// at most 1/(n+1) more than at them: intervals at n quantiles enclose the Kolmogorov-Smirnov distance.
void add_coordinate_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  constexpr std::size_t kQuantiles = 127;
  constexpr double kDistance = 0.02;
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const auto d = static_cast<std::size_t>(options.dim);
  const double n = static_cast<double>(d);
  const std::vector<double> thresholds = quantiles(law, kQuantiles);

  Study study;
  Claim claim;
  claim.source = std::string(kTurboQuant) + ", Lemma 1";
  claim.valid_for = "d >= 2, Haar rotations";
  claim.id = "coordinate.ks";
  claim.statement =
      "Kolmogorov-Smirnov distance of the coordinates of R e_0 from C_d (1 - y^2)^((d-3)/2) <= 0.02: at 127 quantiles, "
      "1/128 between them";
  claim.exact = 0;
  claim.margin = kDistance - 1.0 / (kQuantiles + 1);
  std::vector<double> expected;
  for (std::size_t k = 0; k < kQuantiles; ++k) {
    const double f = law.cdf(thresholds[k]);
    expected.push_back(f);
    const double spread = std::sqrt(f * (1 - f) / n);
    // In [-F, 1 - F], shifted so that the centre lies inside.
    study.channels.push_back(bounded("F_n - F", -f, 1 - f, 0, {2000, spread}));
    claim.channels.push_back(k);
  }
  study.claims.push_back(claim);

  const std::size_t first = kQuantiles;
  const std::size_t fourth = kQuantiles + 1;
  study.channels.push_back(bounded("sqrt(d) y_0", -std::sqrt(n), std::sqrt(n), 0, {2000, 1}));
  study.channels.push_back(asymptotic("d sum y_j^4", 2000));
  claim.channels = {first};
  claim.margin = 0.3;  // a triangular factor of the wrong sign shows as sqrt(2/pi)
  claim.id = "coordinate.mean-printed";
  claim.statement = "coordinates tend to N(1, 1/d): E sqrt(d) y_0 = 1";
  claim.source = std::string(kTurboQuant) + ", section 1.3";
  claim.form = Form::kPrinted;
  claim.target = 1;
  study.claims.push_back(claim);
  claim.id = "coordinate.mean";
  claim.statement = "coordinates tend to N(0, 1/d): E sqrt(d) y_0 = 0";
  claim.form = Form::kCorrected;
  claim.target = 0;
  study.claims.push_back(claim);
  claim.channels = {fourth};
  claim.id = "coordinate.kurtosis";
  claim.statement = "d^2 E y^4 = 3d/(d+2)";
  claim.source = "y^2 ~ Beta(1/2, (d-1)/2)";
  claim.form = Form::kExact;
  claim.target = 3 * n / (n + 2);
  claim.exact = claim.target;
  claim.margin = 0.05 * claim.target;
  study.claims.push_back(claim);

  study.experiment = {"coordinate", study.channels.size(),
                      [=, maker = options.rotations, rotation = options.rotation, seed = options.seed](
                          std::uint64_t t, RngStream&, std::span<double> out) {
                        const auto map = maker(rotation, d, seed, t);
                        Matrix<float> x(1, d);
                        x(0, 0) = 1;
                        Workspace work(map->workspace_bytes(1));
                        map->apply_keys(x.view(), x.view(), work);
                        std::vector<double> y(x.row(0).begin(), x.row(0).end());
                        out[first] = std::sqrt(n) * y[0];
                        out[fourth] = 0;
                        for (const double value : y) out[fourth] += n * value * value * value * value;
                        std::sort(y.begin(), y.end());
                        std::size_t below = 0;
                        for (std::size_t k = 0; k < kQuantiles; ++k) {
                          while (below < d && y[below] <= thresholds[k]) ++below;
                          out[k] = static_cast<double>(below) / n - expected[k];
                        }
                      }};
  studies.push_back(std::move(study));
}

}  // namespace orthant::validation

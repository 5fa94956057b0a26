#include <cmath>
#include <memory>

#include "orthant/bounds/coordinate_law.h"
#include "orthant/core/workspace.h"
#include "orthant/transform/make_rotation.h"
#include "validation/studies.h"

namespace orthant::validation {

// Each trial rotates one fixed vector by a fresh rotation. The fraction of the d coordinates below a threshold has mean
// F(threshold), whatever the dependence between coordinates; six thresholds, from the far tail to the middle, enclose
// the distribution function like a Kolmogorov-Smirnov band at these points.
void add_coordinate_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const auto d = static_cast<std::size_t>(options.dim);
  std::vector<double> thresholds;
  for (const double z : {-2.5, -1.5, -0.5, 0.25, 1.0, 2.0}) thresholds.push_back(z * law.standard_deviation());

  Study study;
  Claim claim;
  claim.id = "coordinate.law";
  claim.statement = "coordinates of R x have density C_d (1 - y^2)^((d-3)/2), x = e_0";
  claim.source = std::string(kTurboQuant) + ", Lemma 1";
  claim.valid_for = "d >= 2, Haar rotations";
  claim.exact = 0;
  claim.margin = 0.01;
  std::vector<double> expected;
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    const double f = law.cdf(thresholds[k]);
    expected.push_back(f);
    const double spread = std::sqrt(f * (1 - f) / static_cast<double>(d));
    // In [-F, 1 - F], shifted so that the centre lies inside.
    study.channels.push_back(bounded("F_n - F", -f, 1 - f, 0, {2000, spread}));
    claim.channels.push_back(k);
  }
  study.experiment = {
      "coordinate", thresholds.size(),
      [=, rotation = options.rotation, seed = options.seed](std::uint64_t t, RngStream&, std::span<double> out) {
        const auto map = transform::make_rotation(rotation, d, seed, t);
        Matrix<float> x(1, d);
        x(0, 0) = 1;
        Workspace work(map->workspace_bytes(1));
        map->apply_keys(x.view(), x.view(), work);
        for (std::size_t k = 0; k < thresholds.size(); ++k) {
          double below = 0;
          for (const float y : x.row(0)) below += static_cast<double>(y) <= thresholds[k] ? 1.0 : 0.0;
          out[k] = below / static_cast<double>(d) - expected[k];
        }
      }};
  study.claims.push_back(claim);
  studies.push_back(std::move(study));
}

}  // namespace orthant::validation

#include <numbers>

#include "orthant/bounds/mse_moments.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "validation/inner_product_errors.h"
#include "validation/studies.h"
#include "validation/trial_keys.h"

namespace orthant::validation {

// Which of TurboQuant's two variants estimates inner products better depends on the cosine: mse is biased by the factor
// 1 - D, prod pays with variance. Differences of squared errors on the same vectors and queries, at two bits.
void add_crossover_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  constexpr int kBits = 2;
  constexpr int kQueries = 8;
  const auto d = static_cast<std::size_t>(options.dim);
  const double n = static_cast<double>(d);
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const double distortion = bounds::distortion(law, bounds::optimal_levels(law, kBits));
  const double before = bounds::distortion(law, bounds::optimal_levels(law, kBits - 1));
  const double threshold = bounds::crossover_correlation(options.dim, distortion, std::numbers::pi / 2 * before);
  if (threshold >= 1) return;
  const double above = (1 + threshold) / 2;

  Study study;
  study.experiment = {
      "crossover", 2,
      [=, mse = TrialSubject(options, "turbo-mse:2,norm=f32", TrialSubject::Maps::kRotation),
       prod = TrialSubject(options, "turbo-prod:2,sketch=gaussian,norm=f32", TrialSubject::Maps::kSketch)](
          std::uint64_t t, RngStream& rng, std::span<double> out) {
        const auto first = mse(t);
        const auto second = prod(t);
        Matrix<float> x(1, d);
        draw_key(options, rng, x.row(0));
        CodedRows by_mse(*first, x.view());
        CodedRows by_prod(*second, x.view());
        std::size_t channel = 0;
        for (const double rho : {0.0, above}) {
          out[channel++] = n * (inner_product_errors(by_mse, x.row(0), rho, kQueries, rng).square -
                                inner_product_errors(by_prod, x.row(0), rho, kQueries, rng).square);
        }
      }};
  study.channels = {asymptotic("d (mse error^2 - prod error^2), cosine 0", 2000),
                    asymptotic("d (mse error^2 - prod error^2), above the crossover", 2000)};
  Claim claim;
  claim.id = "crossover.always";
  claim.statement = "prod estimates inner products better than mse, cosine 0, b = 2";
  claim.source = "articles on TurboQuant";
  claim.valid_for = "stated for all pairs";
  claim.form = Form::kMisprint;
  claim.relation = Relation::kAtLeast;
  claim.channels = {0};
  study.claims.push_back(claim);
  claim.id = "crossover.beyond";
  claim.statement = "prod estimates better than mse beyond the crossover cosine, b = 2, Gaussian sketch";
  claim.source = "rho^2 D_b^2 + (1 - rho^2) D_b (1 - D_b)/d = (pi/2) D_{b-1}/d";
  claim.valid_for = "large d";
  claim.form = Form::kCorrected;
  claim.channels = {1};
  study.claims.push_back(claim);
  studies.push_back(std::move(study));
}

}  // namespace orthant::validation

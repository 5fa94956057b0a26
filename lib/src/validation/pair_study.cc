#include <cmath>

#include "orthant/bounds/mse_moments.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "validation/inner_product_errors.h"
#include "validation/studies.h"
#include "validation/trial_keys.h"

namespace orthant::validation {

// TurboQuant_mse as an estimator of <x, q> on correlated pairs: its bias grows with the cosine, its variance shrinks.
void add_pair_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  constexpr double kCosine = 0.7;
  constexpr int kKeys = 8;
  constexpr int kQueries = 2;
  enum : std::size_t { kEstimate, kSquare, kPerpendicular, kChannels };
  const auto d = static_cast<std::size_t>(options.dim);
  const double n = static_cast<double>(d);
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  for (const int b : options.bits) {
    const bounds::MseMoments m = bounds::mse_moments(options.dim, bounds::optimal_levels(law, b));
    const TrialSubject subject(options, "turbo-mse:" + std::to_string(b) + ",norm=f32", TrialSubject::Maps::kRotation);
    Study study;
    study.experiment = {case_id("pairs", b), kChannels, [=](std::uint64_t t, RngStream& rng, std::span<double> out) {
                          const auto quantizer = subject(t);
                          Matrix<float> x(1, d);
                          std::fill(out.begin(), out.end(), 0.0);
                          for (int k = 0; k < kKeys; ++k) {
                            draw_key(options, rng, x.row(0));
                            CodedRows coded(*quantizer, x.view());
                            const ErrorMoments near = inner_product_errors(coded, x.row(0), kCosine, kQueries, rng);
                            const ErrorMoments far = inner_product_errors(coded, x.row(0), 0, kQueries, rng);
                            out[kEstimate] += (near.mean + kCosine) / kKeys;
                            out[kSquare] += n * near.square / kKeys;
                            out[kPerpendicular] += n * far.square / kKeys;
                          }
                        }};
    study.channels = {asymptotic("estimate of <x, q>, cosine 0.7", 4000), asymptotic("d error^2, cosine 0.7", 4000),
                      asymptotic("d error^2, cosine 0", 4000)};
    Claim claim;
    claim.valid_for = "d >= 2, every pair of that cosine, Haar rotations";
    claim.form = Form::kExact;
    const auto add = [&](const std::string& id, const std::string& statement, double target, double margin,
                         std::size_t channel) {
      claim.id = case_id("pairs." + id, b);
      claim.statement = statement + ", b = " + std::to_string(b);
      claim.target = target;
      claim.exact = target;
      claim.margin = margin;
      claim.channels = {channel};
      study.claims.push_back(claim);
    };
    claim.source = "centroid condition";
    add("bias", "E estimate = (1 - D) <x, q>, TurboQuant_mse, cosine 0.7", (1 - m.distortion) * kCosine,
        0.1 * m.distortion * kCosine, kEstimate);
    claim.source = "exact pair moments";
    const double square = n * bounds::mse_inner_product_error(m, kCosine);
    add("error", "d E error^2 = d rho^2 E<r,x>^2 + (1 - rho^2) V, TurboQuant_mse, cosine 0.7", square, 0.05 * square,
        kSquare);
    const double variance = n * m.perpendicular_variance;
    add("variance", "d Var = V = d (D - E<r,x>^2)/(d-1), TurboQuant_mse, cosine 0", variance, 0.05 * variance,
        kPerpendicular);
    studies.push_back(std::move(study));
  }
}

}  // namespace orthant::validation

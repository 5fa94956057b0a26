#include <cmath>

#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "validation/inner_product_errors.h"
#include "validation/studies.h"
#include "validation/trial_keys.h"

namespace orthant::validation {
namespace {

constexpr int kQueries = 16;

TrialSubject eden(int bits, const std::string& scale, const ClaimOptions& options) {
  return {options, "eden:" + std::to_string(bits) + ",scale=" + scale + ",norm=f32", TrialSubject::Maps::kRotation};
}

Study unbiased_scale(const ClaimOptions& options, int b) {
  const auto d = static_cast<std::size_t>(options.dim);
  const double n = static_cast<double>(d);
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const double variance = bounds::unbiased_variance_times_d(bounds::distortion(law, bounds::optimal_levels(law, b)));
  enum : std::size_t { kBias, kPerpendicular, kChannels };
  Study study;
  study.experiment = {
      case_id("eden", b), kChannels,
      [=, subject = eden(b, "unbiased", options)](std::uint64_t t, RngStream& rng, std::span<double> out) {
        const auto quantizer = subject(t);
        Matrix<float> x(1, d);
        draw_key(options, rng, x.row(0));
        CodedRows coded(*quantizer, x.view());
        out[kBias] = inner_product_errors(coded, x.row(0), 0.5, kQueries, rng).mean;
        out[kPerpendicular] = n * inner_product_errors(coded, x.row(0), 0, kQueries, rng).square;
      }};
  study.channels = {asymptotic("estimate - <y, x>", 3000), asymptotic("d error^2, y orthogonal to x", 3000)};
  Claim claim;
  claim.source = kEden;
  claim.valid_for = "every x and y, Haar rotation";
  claim.id = case_id("eden.unbiased", b);
  claim.statement = "E estimate = <y, x>, scale |x|/<c, x>, cosine 0.5, b = " + std::to_string(b);
  claim.form = Form::kPrinted;
  claim.exact = 0;
  claim.margin = 0.15 * std::sqrt(variance / n);
  claim.channels = {kBias};
  study.claims.push_back(claim);
  claim.id = case_id("eden.variance", b);
  claim.source = "scale-up of the direction code, large d";
  claim.valid_for = "large d";
  claim.statement = "d Var = D/(1 - D) at cosine 0, b = " + std::to_string(b);
  claim.form = Form::kExact;
  claim.exact.reset();
  claim.target = variance;
  claim.margin = (0.05 + 2 / n) * variance;  // terms of order 1/d are left out: 1.6/d at one bit
  claim.channels = {kPerpendicular};
  study.claims.push_back(claim);
  return study;
}

/// d (error of TurboQuant_prod at b + 1 bits)^2 - d (error of EDEN at b bits)^2 on the same vectors and queries.
Study against_prod(const ClaimOptions& options, int b, const std::string& sketch) {
  const auto d = static_cast<std::size_t>(options.dim);
  const double n = static_cast<double>(d);
  const TrialSubject prod(options, "turbo-prod:" + std::to_string(b + 1) + ",norm=f32,sketch=" + sketch,
                          TrialSubject::Maps::kSketch);
  Study study;
  study.experiment = {case_id("eden against prod " + sketch, b), 1,
                      [=, own = eden(b, "unbiased", options)](std::uint64_t t, RngStream& rng, std::span<double> out) {
                        const auto first = prod(t);
                        const auto second = own(t);
                        Matrix<float> x(1, d);
                        draw_key(options, rng, x.row(0));
                        CodedRows by_prod(*first, x.view());
                        CodedRows by_eden(*second, x.view());
                        out[0] = n * (inner_product_errors(by_prod, x.row(0), 0, kQueries, rng).square -
                                      inner_product_errors(by_eden, x.row(0), 0, kQueries, rng).square);
                      }};
  study.channels = {asymptotic("d (prod error^2 - EDEN error^2)", 2000)};
  Claim claim;
  claim.id = case_id("eden.beats-prod-" + sketch, b);
  claim.statement =
      "b-bit EDEN has less variance than (b+1)-bit TurboQuant_prod, " + sketch + " sketch, b = " + std::to_string(b);
  claim.source = kEden;
  claim.valid_for = sketch == "gaussian" ? "b >= 2 (a tie at b = 1)" : "printed without naming the sketch";
  claim.form = Form::kPrinted;
  claim.relation = Relation::kAtLeast;
  claim.channels = {0};
  study.claims.push_back(claim);
  return study;
}

/// Relative change of |x - x_hat|^2 by the scale <c, x>/|c|^2 instead of 1.
Study biased_scale(const ClaimOptions& options) {
  constexpr int kBits = 4;
  const auto d = static_cast<std::size_t>(options.dim);
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const double distortion = bounds::distortion(law, bounds::optimal_levels(law, kBits));
  Study study;
  study.experiment = {"eden scale", 1,
                      [=, raw = TrialSubject(options, "turbo-mse:4,norm=f32", TrialSubject::Maps::kRotation),
                       own = eden(kBits, "mse", options)](std::uint64_t t, RngStream& rng, std::span<double> out) {
                        Matrix<float> x(1, d);
                        draw_key(options, rng, x.row(0));
                        const auto error = [&](const TrialSubject& subject) {
                          const auto quantizer = subject(t);
                          return squared_distance(x.row(0), CodedRows(*quantizer, x.view()).decoded().row(0));
                        };
                        out[0] = (error(own) - error(raw)) / distortion;
                      }};
  study.channels = {asymptotic("relative change of |x - x_hat|^2", 3000)};
  Claim claim;
  claim.id = "eden.saving";
  claim.statement = "the scale <c, x>/|c|^2 lowers |x - x_hat|^2 by 2.25 % or more, b = 4";
  claim.source = kEden;
  claim.valid_for = "d = 128 in the source's setting";
  claim.form = Form::kPrinted;
  claim.relation = Relation::kAtMost;
  claim.target = -0.0225;
  claim.channels = {0};
  study.claims.push_back(claim);
  claim.id = "eden.saving-measured";
  claim.statement = "the scale <c, x>/|c|^2 never raises |x - x_hat|^2";
  claim.source = "least squares";
  claim.valid_for = "every x";
  claim.form = Form::kExact;
  claim.target = 0;
  study.claims.push_back(claim);
  return study;
}

}  // namespace

void add_eden_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  for (const int b : options.bits) studies.push_back(unbiased_scale(options, b));
  for (const int b : {2, 3}) {
    for (const std::string sketch : {"gaussian", "orthogonal"}) studies.push_back(against_prod(options, b, sketch));
  }
  studies.push_back(biased_scale(options));
}

}  // namespace orthant::validation

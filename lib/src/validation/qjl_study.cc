#include <cmath>

#include "orthant/bounds/sketch.h"
#include "validation/inner_product_errors.h"
#include "validation/studies.h"

namespace orthant::validation {
namespace {

constexpr std::size_t kDim = 32;  // the laws do not depend on it
constexpr int kQueries = 16;

Study errors_of_the_sketch(const ClaimOptions& options) {
  constexpr std::int64_t kRows = 128;
  constexpr double kCosine = 0.9;
  enum : std::size_t { kBias, kPerpendicular, kCorrelated, kChannels };
  Study study;
  study.experiment = {
      "qjl", kChannels,
      [subject = options.subject, seed = options.seed](std::uint64_t t, RngStream& rng, std::span<double> out) {
        const auto quantizer = subject("qjl:" + std::to_string(kRows) + ",norm=f32", kDim, seed, t);
        Matrix<float> x(1, kDim);
        rng.fill_unit_vector(x.row(0));
        CodedRows coded(*quantizer, x.view());
        const double m = kRows;
        const ErrorMoments near = inner_product_errors(coded, x.row(0), kCosine, kQueries, rng);
        out[kBias] = near.mean;
        out[kCorrelated] = m * near.square;
        out[kPerpendicular] = m * inner_product_errors(coded, x.row(0), 0, kQueries, rng).square;
      }};
  study.channels = {asymptotic("estimate - <q, k>", 5000), asymptotic("m error^2, cosine 0", 5000),
                    asymptotic("m error^2, cosine 0.9", 5000)};
  const double m = kRows;
  Claim claim;
  claim.valid_for = "every q and k, independent Gaussian rows";
  claim.source = std::string(kQjl) + ", Lemma 3.2";
  claim.id = "qjl.unbiased";
  claim.statement = "E estimate = <q, k>, cosine 0.9";
  claim.form = Form::kPrinted;
  claim.exact = 0;
  claim.margin = 0.15 * std::sqrt(bounds::qjl_variance(0, kRows));
  claim.channels = {kBias};
  study.claims.push_back(claim);

  claim.source = std::string(kTurboQuant) + ", Lemma 4";
  claim.id = "qjl.variance-bound";
  claim.statement = "m Var <= pi/2 at every cosine";
  claim.relation = Relation::kAtMost;
  claim.margin = 0;
  claim.exact.reset();
  claim.channels = {kCorrelated};
  claim.target = m * bounds::qjl_variance_printed(kRows);
  study.claims.push_back(claim);

  claim.source = "exact law: rho sqrt(pi/2) mean|g| + sqrt(1-rho^2) sqrt(pi/2m) g";
  claim.form = Form::kExact;
  claim.relation = Relation::kEquals;
  for (const auto& [id, rho, channel] : {std::tuple("qjl.variance-perpendicular", 0.0, kPerpendicular),
                                         std::tuple("qjl.variance", kCosine, kCorrelated)}) {
    claim.id = id;
    claim.target = m * bounds::qjl_variance(rho, kRows);
    claim.statement = "m Var = pi/2 - rho^2, cosine " + std::string(rho == 0 ? "0" : "0.9");
    claim.exact = claim.target;
    claim.margin = 0.08 * claim.target;
    claim.channels = {channel};
    study.claims.push_back(claim);
  }
  return study;
}

Study tail_of_the_sketch(const ClaimOptions& options) {
  constexpr std::int64_t kRows = 1000;
  constexpr double kError = 0.1;
  const double exact = bounds::qjl_tail_perpendicular(kError, kRows);
  Study study;
  study.experiment = {
      "qjl tail", 1,
      [subject = options.subject, seed = options.seed](std::uint64_t t, RngStream& rng, std::span<double> out) {
        const auto quantizer = subject("qjl:" + std::to_string(kRows) + ",norm=f32", kDim, seed, t);
        Matrix<float> x(1, kDim);
        rng.fill_unit_vector(x.row(0));
        CodedRows coded(*quantizer, x.view());
        std::vector<float> query(kDim);
        out[0] = 0;
        for (int i = 0; i < kQueries; ++i) {
          correlated_query(x.row(0), 0, rng, query);
          out[0] += std::abs(coded.error(query)) > kError ? 1.0 / kQueries : 0.0;
        }
      }};
  study.channels = {bounded("P(|error| > 0.1)", 0, 1, exact, {5000, std::sqrt(exact / kQueries)})};
  Claim claim;
  claim.source = std::string(kQjl) + ", Lemma 3.5";
  claim.valid_for = "every q and k, independent Gaussian rows";
  claim.exact = exact;
  claim.channels = {0};
  claim.relation = Relation::kAtMost;
  claim.id = "qjl.tail-printed";
  claim.statement = "P(|error| > 0.1) <= 2 exp(-(3/4) m e^2/(1 + e)), m = 1000, cosine 0";
  claim.form = Form::kPrinted;
  claim.target = bounds::qjl_tail_printed(kError, kRows);
  study.claims.push_back(claim);
  claim.id = "qjl.tail-corrected";
  claim.source = "Bernstein with second moment pi/2";
  claim.statement = "P(|error| > 0.1) <= 2 exp(-m e^2/(pi + 4e/3)), m = 1000, cosine 0";
  claim.form = Form::kCorrected;
  claim.target = bounds::qjl_tail_corrected(kError, kRows);
  study.claims.push_back(claim);
  claim.id = "qjl.tail-exact";
  claim.source = "the error is N(0, pi/2m)";
  claim.statement = "P(|error| > 0.1) = 2 Q(e sqrt(2m/pi)), m = 1000, cosine 0";
  claim.form = Form::kExact;
  claim.relation = Relation::kEquals;
  claim.target = exact;
  claim.margin = 0.3 * exact;
  study.claims.push_back(claim);
  return study;
}

}  // namespace

void add_qjl_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  studies.push_back(errors_of_the_sketch(options));
  studies.push_back(tail_of_the_sketch(options));
}

}  // namespace orthant::validation

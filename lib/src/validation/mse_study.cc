#include <algorithm>
#include <cmath>
#include <numeric>

#include "orthant/bounds/converse.h"
#include "orthant/bounds/mse_moments.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "validation/coded_vector.h"
#include "validation/studies.h"
#include "validation/trial_keys.h"

namespace orthant::validation {
namespace {

using bounds::CoordinateLaw;

/// No unit vector has a larger |y - q(y)|^2 than this: inside the outermost level a coordinate errs by at most half of
/// the widest gap (or the innermost level), beyond it by what it sticks out, and sum (|y_j| - c)_+^2 <= (1 - c)^2.
double worst_square_error(std::int64_t d, const std::vector<double>& levels) {
  const double c = levels.back();
  double widest = levels.size() == 1 ? 0 : c;
  if (levels.size() > 2) {
    widest = 0;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) widest = std::max(widest, (levels[i + 1] - levels[i]) / 2);
  }
  return static_cast<double>(d) * widest * widest + (1 - c) * (1 - c);
}

/// Channels of squared_errors(): an error for each input, then these.
struct ErrorChannels {
  explicit ErrorChannels(std::size_t n) : inputs(n) {}
  std::size_t inputs;
  std::size_t mean() const { return inputs; }
  std::size_t alignment() const { return inputs + 1; }
  std::size_t norm() const { return inputs + 2; }
  // Repeats, so that the same number can be enclosed by another kind of interval.
  std::size_t mean_again() const { return inputs + 3; }
  std::size_t first_again() const { return inputs + 4; }
  std::size_t count() const { return inputs + 5; }
};

/// The hard vectors, a random one, and a row of the user's tensor if there is one.
ErrorChannels error_channels(const ClaimOptions& options) {
  return ErrorChannels(hard_vectors(static_cast<std::size_t>(options.dim)).names.size() + 1 +
                       (options.keys != nullptr ? 1 : 0));
}

/// Squared errors of every input under a fresh rotation; their mean, and the means of <x_hat, x> and of |x - x_hat|.
montecarlo::Experiment squared_errors(const std::string& name, const std::string& method, const ClaimOptions& options) {
  const auto d = static_cast<std::size_t>(options.dim);
  const auto hard = std::make_shared<const HardVectors>(hard_vectors(d));
  const ErrorChannels at = error_channels(options);
  return {name, at.count(), [=](std::uint64_t t, RngStream& rng, std::span<double> out) {
            const auto quantizer = options.subject(method, d, options.seed, t);
            const std::size_t n = at.inputs;
            const std::size_t fixed = hard->names.size();
            Matrix<float> x(n, d);
            for (std::size_t i = 0; i < fixed; ++i) std::ranges::copy(hard->rows.row(i), x.row(i).begin());
            rng.fill_unit_vector(x.row(fixed));
            if (fixed + 1 < n) draw_key(options, rng, x.row(fixed + 1));
            CodedRows coded(*quantizer, x.view());
            const Matrix<float> x_hat = coded.decoded();
            double error = 0;
            double alignment = 0;
            double norm = 0;
            for (std::size_t i = 0; i < n; ++i) {
              out[i] = squared_distance(x.row(i), x_hat.row(i));
              error += out[i];
              norm += std::sqrt(out[i]);
              alignment += dot(x.row(i), x_hat.row(i));
            }
            out[at.mean()] = out[at.mean_again()] = error / static_cast<double>(n);
            out[at.alignment()] = alignment / static_cast<double>(n);
            out[at.norm()] = norm / static_cast<double>(n);
            out[at.first_again()] = out[0];
          }};
}

/// Beyond four bits the range is so much wider than the error that only the asymptotic interval decides in good time.
std::vector<Channel> enclosures(const ErrorChannels& at, int bits, double worst, double expected, double spread) {
  std::vector<Channel> channels;
  for (std::size_t c = 0; c < at.count(); ++c) {
    const bool error = c <= at.mean() && bits <= 4;
    channels.push_back(error ? bounded("|x - x_hat|^2", 0, worst, expected, {4000, spread})
                             : asymptotic(c == at.alignment() ? "<x_hat, x>"
                                          : c == at.norm()    ? "|x - x_hat|"
                                                              : "|x - x_hat|^2",
                                          4000));
  }
  return channels;
}

std::vector<std::size_t> first(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

void add_mse_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  const CoordinateLaw law = CoordinateLaw::sphere(options.dim);
  const ErrorChannels at = error_channels(options);
  for (const int b : options.bits) {
    const std::vector<double> levels = bounds::optimal_levels(law, b);
    const bounds::MseMoments m = bounds::mse_moments(options.dim, levels);
    Study study;
    study.experiment = squared_errors(
        case_id("mse", b), "turbo-mse:" + std::to_string(b) + ",norm=f32,rotation=" + options.rotation, options);
    study.channels =
        enclosures(at, b, worst_square_error(options.dim, levels), m.distortion, std::sqrt(m.distortion_variance));

    const std::string bits = "b = " + std::to_string(b);
    Claim claim;
    claim.source = std::string(kTurboQuant) + ", Theorem 1";
    claim.exact = m.distortion;
    const auto add = [&](const std::string& id, const std::string& statement, Form form, Relation relation,
                         double target, std::vector<std::size_t> channels, double margin = 0) {
      add_claim(study, claim, case_id("mse." + id, b), statement + ", " + bits, form, relation, target, margin,
                std::move(channels));
    };
    claim.valid_for = "d >= 2, every x, Haar rotations";
    add("distortion", "E|x - x_hat|^2 = d C(f_d, b)", Form::kExact, Relation::kEquals, m.distortion, {at.mean_again()},
        0.02 * m.distortion);
    add("theorem1", "E|x - x_hat|^2 <= sqrt(3) pi/2 4^-b, each of " + std::to_string(at.inputs) + " inputs",
        Form::kPrinted, Relation::kAtMost, bounds::theorem1(b), first(at.inputs));
    add("theorem1-sqrt-3pi", "E|x - x_hat|^2 <= sqrt(3 pi)/2 4^-b", Form::kMisprint, Relation::kAtMost,
        bounds::theorem1_misprint_root(b), {at.mean()});
    add("theorem1-3pi", "E|x - x_hat|^2 <= 3 pi/2 4^-b", Form::kMisprint, Relation::kAtMost,
        bounds::theorem1_misprint_no_root(b), {at.mean()});
    if (const auto refined = bounds::theorem1_refined(b)) {
      add("theorem1-refined", "E|x - x_hat|^2 <= the small-b value", Form::kPrinted, Relation::kAtMost, *refined,
          {at.mean_again()});
    }
    claim.exact.reset();
    claim.source = std::string(kTurboQuant) + ", section 3.2";
    add("residual-norm", "E|x - x_hat| = sqrt(C(f_d, b))", Form::kPrinted, Relation::kEquals,
        std::sqrt(m.distortion / static_cast<double>(options.dim)), {at.norm()}, 0.05 * std::sqrt(m.distortion));
    claim.exact = m.distortion;
    claim.valid_for = "d >= 2, any code of b d bits";
    claim.source = "cap converse, exact at finite d";
    add("converse", "E|x - x_hat|^2 >= 1 - rho^2 of the cap of measure 2^-bd", Form::kCorrected, Relation::kAtLeast,
        bounds::cap_converse(options.dim, b), {at.mean()});
    claim.exact = m.alignment;
    claim.valid_for = "d >= 2, Haar rotations";
    claim.source = "centroid condition";
    add("shrinkage", "E<x_hat, x> = 1 - D", Form::kExact, Relation::kEquals, 1 - m.distortion, {at.alignment()},
        0.05 * m.distortion);
    studies.push_back(std::move(study));
  }
}

void add_lower_bound_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  ClaimOptions plane = options;
  plane.dim = 2;
  const CoordinateLaw law = CoordinateLaw::sphere(2);
  for (const int b : options.bits) {
    if (b > 4) continue;
    const std::vector<double> levels = bounds::optimal_levels(law, b);
    const bounds::MseMoments m = bounds::mse_moments(2, levels);
    Study study;
    const std::string method = "turbo-mse:" + std::to_string(b) + ",norm=f32,rotation=" + options.rotation;
    study.experiment = {case_id("plane", b), 1,
                        [method, subject = options.subject, seed = options.seed](std::uint64_t t, RngStream& rng,
                                                                                 std::span<double> out) {
                          const auto quantizer = subject(method, 2, seed, t);
                          Matrix<float> x(1, 2);
                          rng.fill_unit_vector(x.row(0));
                          out[0] = squared_distance(x.row(0), CodedRows(*quantizer, x.view()).decoded().row(0));
                        }};
    study.channels.push_back(bounded("|x - x_hat|^2", 0, 4, m.distortion,
                                     {4000, std::max(0.01, std::sqrt(std::max(0.0, m.distortion_variance)))}));
    Claim claim;
    claim.id = case_id("lower-bound.d2", b);
    claim.statement = "E|x - x_hat|^2 >= 4^-b for every quantizer, d = 2, b = " + std::to_string(b);
    claim.source = std::string(kTurboQuant) + ", Theorem 3";
    claim.valid_for = "printed for every d; proved here where the cap converse lies above 4^-b";
    claim.form = Form::kPrinted;
    claim.relation = Relation::kAtLeast;
    claim.target = bounds::printed_lower_bound(b);
    claim.exact = m.distortion;
    claim.channels = {0};
    study.claims.push_back(claim);
    claim.id = case_id("lower-bound.d2-converse", b);
    claim.statement = "E|x - x_hat|^2 >= 1 - (sin t / t)^2, t = pi 4^-b, d = 2, b = " + std::to_string(b);
    claim.source = "cap converse, exact at d = 2";
    claim.valid_for = "d = 2, any code of 2 b bits";
    claim.form = Form::kCorrected;
    // At one bit the quantizer attains the converse, a law without spread: float rounding needs 1e-6.
    claim.target = bounds::cap_converse(2, b) * (1 - 1e-6);
    if (b > 1) study.claims.push_back(claim);
    studies.push_back(std::move(study));
  }
}

void add_structured_rotation_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  const ErrorChannels at = error_channels(options);
  const CoordinateLaw law = CoordinateLaw::sphere(options.dim);
  const bool power_of_two = (options.dim & (options.dim - 1)) == 0;
  for (const int b : options.bits) {
    if (b < 2) continue;
    const std::vector<double> levels = bounds::optimal_levels(law, b);
    const double worst = worst_square_error(options.dim, levels);
    const double d = bounds::distortion(law, levels);
    for (const std::string rotation : {"hadamard:1", "hadamard:3", "kac:4"}) {
      if (rotation == "hadamard:1" && !power_of_two) continue;
      Study study;
      study.experiment = squared_errors(rotation + ' ' + case_id("mse", b),
                                        "turbo-mse:" + std::to_string(b) + ",norm=f32,rotation=" + rotation, options);
      study.channels = enclosures(at, b, worst, d, d / 3);
      Claim claim;
      claim.source = std::string(kTurboQuant) + ", Theorem 1, with a structured rotation";
      claim.valid_for = rotation == "hadamard:1"
                            ? std::string("stated for Haar rotations; no worst case for one round")
                            : "no proof for every x; checked on " + std::to_string(at.inputs) + " inputs";
      claim.form = Form::kPrinted;
      claim.relation = Relation::kAtMost;
      claim.target = bounds::theorem1(b);
      claim.statement = "E|x - x_hat|^2 <= sqrt(3) pi/2 4^-b, rotation " + rotation + ", b = " + std::to_string(b);
      claim.id =
          case_id("rotation." + rotation.substr(0, rotation.find(':')) + rotation.substr(rotation.find(':') + 1), b);
      claim.channels = first(at.inputs);
      study.claims.push_back(claim);
      if (rotation == "hadamard:1") {
        const double flat = bounds::flat_vector_distortion(options.dim, levels);
        claim.id = case_id("rotation.hadamard1-one-hot", b);
        claim.statement =
            "|x - x_hat|^2 = (1 - sqrt(d) q(1/sqrt(d)))^2 on a one-hot, one Hadamard round, b = " + std::to_string(b);
        claim.source = "derived";
        claim.form = Form::kExact;
        claim.relation = Relation::kEquals;
        claim.target = flat;
        claim.exact = flat;
        claim.margin = 0.02 * flat;
        claim.channels = {at.first_again()};
        // The same value in every trial, up to the rounding of x_hat: 2 |x - x_hat| times 4 eps |x_hat|, eps = 2^-24.
        study.channels[at.first_again()].rounding = 8 * 0x1p-24 * std::sqrt(flat);
        study.claims.push_back(claim);
      }
      studies.push_back(std::move(study));
    }
  }
}

}  // namespace orthant::validation

#include "quantizer/estimator_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "golden_json.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/moments.h"
#include "orthant/core/parallel_for.h"
#include "orthant/quantizer/qjl.h"
#include "orthant/quantizer/rabitq.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/quantizer/turbo_prod.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/identity.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

constexpr double kHalfPi = std::numbers::pi / 2;
constexpr SketchKind kSketches[] = {SketchKind::kGaussian, SketchKind::kOrthogonal, SketchKind::kHadamard};

/// The random maps of one draw, shared by all methods.
struct Maps {
  Maps(std::size_t d, std::uint64_t draw) : rotation(std::make_shared<const transform::Haar>(d, 5, draw)) {
    for (const SketchKind kind : kSketches) square.push_back(std::make_shared<const Sketch>(kind, d, d, 6, draw));
  }
  const std::shared_ptr<const Sketch>& sketch(SketchKind kind) const { return square[static_cast<std::size_t>(kind)]; }

  std::shared_ptr<const transform::Haar> rotation;
  std::vector<std::shared_ptr<const Sketch>> square;
};

struct Expected {
  double bias;
  double square;
};

/// Mean sine and cosine powers of the angle between x and its code, measured.
struct AngleMeans {
  double tan2 = 0;
  double sin2 = 0;
  double sin4 = 0;
};

struct Estimator {
  std::string name;
  std::function<std::unique_ptr<VectorQuantizer>(const Maps&, std::uint64_t draw)> make;
  std::function<Expected(double rho, const AngleMeans& angle)> expected;
  bool measures_angle = false;
};

nlohmann::json golden_row(const char* file, std::size_t d, int bits) {
  const nlohmann::json golden = golden_json(file);
  for (const auto& row : golden.at("rows")) {
    if (row.at("d").get<std::size_t>() == d && row.at("bits").get<int>() == bits) return row;
  }
  throw std::runtime_error("no golden moments for this d and bits");
}

/// v = factor sum_i sign(<s_i, r>) s_i for a unit r:  <v, r> has mean 1 and mean square `along`; across r, v is
/// isotropic with mean square `across` in every direction.
struct SketchLaw {
  double along;
  double across;
};

SketchLaw gaussian_law(double rows) { return {1 + (kHalfPi - 1) / rows, kHalfPi / rows}; }

/// Rows of Haar matrices times sqrt d, made unbiased. With u = the first m coordinates of a uniform unit vector,
///   <v, r> = c sum |u_i|,  c = sqrt(pi d / 2) / (m beta),  |v|^2 = c^2 m,
///   E |u_1 u_2| from E |u|_1^2 = d E a^2,  E a^2 = 2/pi + (1 - 2/pi)/d.
/// More than d rows are independent matrices: their errors average.
SketchLaw orthogonal_law(std::size_t d, std::size_t rows, double beta) {
  const double n = static_cast<double>(d);
  const double pair = (n * (1 / kHalfPi + (1 - 1 / kHalfPi) / n) - 1) / (n * (n - 1));
  SketchLaw mean{1, 0};
  for (std::size_t first = 0; first < rows; first += d) {
    const double m = static_cast<double>(std::min(d, rows - first));
    const double c = std::sqrt(kHalfPi * n) / (m * beta);
    const double along = c * c * (m / n + m * (m - 1) * pair);
    const double share = m / static_cast<double>(rows);
    mean.along += share * share * (along - 1);
    mean.across += share * share * (c * c * m - along) / (n - 1);
  }
  return mean;
}

SketchLaw law_of(SketchKind kind, std::size_t d, std::size_t rows, double beta) {
  return kind == SketchKind::kGaussian ? gaussian_law(static_cast<double>(rows)) : orthogonal_law(d, rows, beta);
}

/// E <q, r>^2 f(|r|) at correlation rho from E <x, r>^2 f and E |r|^2 f: the cross term vanishes by symmetry.
double seen_by_query(double rho, double along, double whole, double d) {
  return rho * rho * along + (1 - rho * rho) * (whole - along) / (d - 1);
}

class Catalogue {
 public:
  explicit Catalogue(std::size_t d) : d_(d), n_(static_cast<double>(d)) {
    for (int bits = 1; bits <= 6; ++bits) {
      add_centroids(bits);
      for (const SketchKind kind : kSketches) add_prod(bits, kind);
      add_rabitq(bits);
    }
    for (const SketchKind kind : kSketches)
      for (const std::size_t rows : {d / 2, d, 2 * d}) add_qjl(rows, kind);
  }
  const std::vector<Estimator>& estimators() const { return estimators_; }

 private:
  codebook::Codebook book(int bits) const { return codebook::sphere_codebook(static_cast<std::int64_t>(d_), bits); }

  void add_centroids(int bits) {
    const nlohmann::json residual = golden_row("quantizer/turbo_mse_moments.json", d_, bits);
    const nlohmann::json angle = golden_row("quantizer/direction_moments.json", d_, bits);
    const double distortion = residual.at("D");
    const double along = residual.at("E_rx_sq");
    const double across = ((1 - distortion) - residual.at("E_xtx_sq").get<double>()) / (n_ - 1);
    const double cos1 = angle.at("E_cos");
    const double cos2 = angle.at("E_cos2");
    const double cos4 = angle.at("E_cos4");
    const double sec2 = angle.at("E_sec2");
    const double n = n_;
    const auto add = [&](const std::string& name, ScaleRule rule, auto expected) {
      estimators_.push_back(
          {name + std::to_string(bits) + (rule == ScaleRule::kRaw ? "" : " scale=") +
               (rule == ScaleRule::kRaw ? "" : orthant::quantizer::name(rule)),
           [b = book(bits), rule](const Maps& maps, std::uint64_t) {
             return std::make_unique<TurboMse>(maps.rotation, b, TurboMseOptions{rule, ScaleFormat::kFloat});
           },
           [expected](double rho, const AngleMeans&) { return expected(rho); }});
    };
    add("turbo-mse:", ScaleRule::kRaw, [=](double rho) {
      return Expected{-distortion * rho, rho * rho * along + (1 - rho * rho) * across};
    });
    // estimate = a rho + w sqrt(1 - rho^2) X, X a coordinate of a uniform point on S^{d-2}.
    const auto scaled = [n](double a1, double a2, double w2) {
      return [=](double rho) {
        return Expected{(a1 - 1) * rho, rho * rho * (1 - 2 * a1 + a2) + (1 - rho * rho) * w2 / (n - 1)};
      };
    };
    add("eden:", ScaleRule::kMatched, scaled(cos1, cos2, 1 - cos2));
    add("eden:", ScaleRule::kMse, scaled(cos2, cos4, cos2 - cos4));
    add("eden:", ScaleRule::kUnbiased, scaled(1, 1, sec2 - 1));
  }

  void add_prod(int bits, SketchKind kind) {
    // b = 1: no centroids, r = x.
    nlohmann::json m = {{"E_A", 1.0},         {"E_A2", 1.0},           {"E_A2_over_sqrtR", 1.0},
                        {"E_A2_over_R", 1.0}, {"E_A_over_sqrtR", 1.0}, {"E_sqrtR", 1.0}};
    if (bits > 1) m = golden_row("quantizer/direction_moments.json", d_, bits - 1);
    const double distortion = m.at("E_A");
    const double along = m.at("E_A2");
    const double n = n_;
    const SketchLaw law = law_of(kind, d_, d_, Sketch(kind, d_, d_, 1).beta());
    const auto make = [&](ResidualNorm residual) {
      return [b = book(bits - 1), kind, residual](const Maps& maps, std::uint64_t) {
        return std::make_unique<TurboProd>(maps.rotation, b, maps.sketch(kind),
                                           TurboProdOptions{residual, ScaleFormat::kFloat});
      };
    };
    const std::string text = "turbo-prod:" + std::to_string(bits) + " sketch=" + name(kind);
    // estimate - rho = <q, gamma v> - <q, r>.
    estimators_.push_back({text, make(ResidualNorm::kStored), [=](double rho, const AngleMeans&) {
                             const double seen = seen_by_query(rho, along, distortion, n);
                             return Expected{0, (law.along - 1) * seen + law.across * (distortion - seen)};
                           }});
    if (bits == 1 || kind == SketchKind::kHadamard) return;
    const double gamma = std::sqrt(distortion);
    const double root = m.at("E_sqrtR");
    const double a_over_root = m.at("E_A_over_sqrtR");
    const double a2_over_root = m.at("E_A2_over_sqrtR");
    const double a2_over_rest = m.at("E_A2_over_R");
    estimators_.push_back({text + " gamma=constant", make(ResidualNorm::kConstant), [=](double rho, const AngleMeans&) {
                             const double direction = seen_by_query(rho, a2_over_rest, 1, n);
                             const double square = distortion * (law.along * direction + law.across * (1 - direction)) -
                                                   2 * gamma * seen_by_query(rho, a2_over_root, root, n) +
                                                   seen_by_query(rho, along, distortion, n);
                             return Expected{rho * (gamma * a_over_root - distortion), square};
                           }});
  }

  void add_qjl(std::size_t rows, SketchKind kind) {
    const SketchLaw law = law_of(kind, d_, rows, Sketch(kind, d_, rows, 1).beta());
    estimators_.push_back({"qjl:" + std::to_string(rows) + " sketch=" + name(kind),
                           [d = d_, rows, kind](const Maps&, std::uint64_t draw) {
                             return std::make_unique<Qjl>(std::make_shared<const transform::Identity>(d),
                                                          std::make_shared<const Sketch>(kind, d, rows, 8, draw),
                                                          ScaleFormat::kFloat);
                           },
                           [law](double rho, const AngleMeans&) {
                             return Expected{0, (law.along - 1) * rho * rho + law.across * (1 - rho * rho)};
                           }});
  }

  void add_rabitq(int bits) {
    const double n = n_;
    const auto make = [bits](ScaleRule rule) {
      return [bits, rule](const Maps& maps, std::uint64_t) {
        return std::make_unique<Rabitq>(maps.rotation, bits,
                                        RabitqOptions{GridSearch::kExact, ScaleFormat::kFloat, false, rule});
      };
    };
    const std::string text = "rabitq:" + std::to_string(bits);
    estimators_.push_back({text, make(ScaleRule::kUnbiased),
                           [n](double rho, const AngleMeans& angle) {
                             return Expected{0, (1 - rho * rho) * angle.tan2 / (n - 1)};
                           },
                           true});
    estimators_.push_back({text + " scale=mse", make(ScaleRule::kMse),
                           [n](double rho, const AngleMeans& angle) {
                             return Expected{
                                 -rho * angle.sin2,
                                 rho * rho * angle.sin4 + (1 - rho * rho) * (angle.sin2 - angle.sin4) / (n - 1)};
                           },
                           true});
  }

  std::size_t d_;
  double n_;
  std::vector<Estimator> estimators_;
};

/// What one draw leaves of one method.
struct DrawMeans {
  std::vector<double> bias;  // by correlation
  std::vector<double> square;
  Moments tan2;
  Moments sin2;
  Moments sin4;
};

void measure_angles(MatrixView<const float> x, MatrixView<const float> x_hat, DrawMeans& means) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double dot = inner_product(x.row(i), x_hat.row(i));
    const double cos2 = dot * dot / (inner_product(x.row(i), x.row(i)) * inner_product(x_hat.row(i), x_hat.row(i)));
    means.tan2.add(1 / cos2 - 1);
    means.sin2.add(1 - cos2);
    means.sin4.add((1 - cos2) * (1 - cos2));
  }
}

std::vector<DrawMeans> run_draw(const EstimatorStudy& study, const std::vector<Estimator>& estimators,
                                std::uint64_t draw) {
  const Maps maps(study.dim, draw);
  std::vector<float> q(study.dim);
  RngStream(77, Domain::kData, draw).fill_unit_vector(q);
  std::vector<Matrix<float>> x;
  for (std::size_t c = 0; c < study.correlations.size(); ++c)
    x.push_back(rows_at_correlation(q, study.correlations[c], study.vectors, 78 + c, draw));
  std::vector<DrawMeans> results;
  for (const Estimator& estimator : estimators) {
    const auto quantizer = estimator.make(maps, draw);
    Workspace work(quantizer->workspace_bytes(study.vectors));
    Matrix<std::uint8_t> packed(study.vectors, quantizer->bytes_per_vector());
    Matrix<float> x_hat(study.vectors, study.dim);
    std::vector<float> estimates(study.vectors);
    DrawMeans means;
    for (const Matrix<float>& rows : x) {
      quantizer->encode(rows.view(), packed.view(), work);
      quantizer->estimate(q, packed.view(), estimates, work);
      Moments error;
      Moments square;
      for (std::size_t i = 0; i < study.vectors; ++i) {
        const double e = static_cast<double>(estimates[i]) - inner_product(q, rows.row(i));
        error.add(e);
        square.add(e * e);
      }
      means.bias.push_back(error.mean());
      means.square.push_back(square.mean());
      if (!estimator.measures_angle) continue;
      quantizer->decode(packed.view(), x_hat.view(), work);
      measure_angles(rows.view(), x_hat.view(), means);
    }
    results.push_back(std::move(means));
  }
  return results;
}

}  // namespace

std::vector<EstimatorError> study_estimators(const EstimatorStudy& study) {
  const Catalogue catalogue(study.dim);
  const std::vector<Estimator>& estimators = catalogue.estimators();
  std::vector<std::vector<DrawMeans>> draws(study.draws);
  parallel_for(study.draws, 0, [&](std::size_t draw) { draws[draw] = run_draw(study, estimators, draw); });
  std::vector<EstimatorError> errors;
  for (std::size_t e = 0; e < estimators.size(); ++e) {
    DrawMeans angle;
    for (const auto& draw : draws) {
      angle.tan2.merge(draw[e].tan2);
      angle.sin2.merge(draw[e].sin2);
      angle.sin4.merge(draw[e].sin4);
    }
    for (std::size_t c = 0; c < study.correlations.size(); ++c) {
      Moments bias;
      Moments square;
      for (const auto& draw : draws) {
        bias.add(draw[e].bias[c]);
        square.add(draw[e].square[c]);
      }
      const Expected exact =
          estimators[e].expected(study.correlations[c], {angle.tan2.mean(), angle.sin2.mean(), angle.sin4.mean()});
      errors.push_back({estimators[e].name, study.correlations[c], bias.mean(), bias.standard_error(), exact.bias,
                        square.mean(), square.standard_error(), exact.square});
    }
  }
  return errors;
}

void expect_exact_values(const EstimatorStudy& study) {
  std::size_t comparisons = 0;
  double worst = 0;
  std::vector<std::pair<double, std::string>> spreads;
  for (const EstimatorError& e : study_estimators(study)) {
    const std::string where = e.method + " at " + std::to_string(e.correlation);
    SCOPED_TRACE("d=" + std::to_string(study.dim) + ' ' + where);
    // Estimates are rounded to float and rows have |x| = 1 within 1e-7: 2e-7 of a score, 1e-12 of its square.
    EXPECT_NEAR(e.bias, e.exact_bias, 4 * e.bias_error + 2e-7);
    EXPECT_NEAR(e.square, e.exact_square, 4 * e.square_error + 1e-12) << "ratio " << e.square / e.exact_square;
    comparisons += 2;
    worst = std::max(worst, std::abs(e.square - e.exact_square) / (e.square_error + 1e-12));
    if (e.exact_square > 1e-9) spreads.emplace_back(e.square_error / e.exact_square, where);
  }
  std::ranges::sort(spreads);
  std::printf("d = %zu: %zu comparisons, mean squares within %.2f standard errors; these are %.1f %% in the median, ",
              study.dim, comparisons, worst, 100 * spreads[spreads.size() / 2].first);
  std::printf("%.1f %% at most (%s)\n", 100 * spreads.back().first, spreads.back().second.c_str());
}

}  // namespace orthant::quantizer

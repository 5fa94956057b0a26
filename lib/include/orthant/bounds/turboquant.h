#pragma once

#include <cstdint>
#include <optional>

#include "orthant/bounds/mse_moments.h"

namespace orthant::bounds {

/// What TurboQuant (Zandieh, Daliri, Hadian & Mirrokni 2025, arXiv 2504.19874) promises, what others print of it, and
/// what is true. D is the mean squared error of a coded unit vector, b the bits a coordinate.

/// sqrt(3) pi / 2 = 2.7207: the Gaussian constant of Panter & Dite (1951). Derived.
inline constexpr double kPanterDite = 2.7206990463513267759;

/// Theorem 1 as the paper means it: D <= sqrt(3) pi / 2 * 4^-b.
double theorem1(int bits);
/// Two misprints in circulation: sqrt(3 pi) / 2 = 1.535 (false from b = 2 on) and 3 pi / 2 = 4.712 (true but idle).
double theorem1_misprint_root(int bits);
double theorem1_misprint_no_root(int bits);
/// The paper's "refined" values 0.36, 0.117, 0.03, 0.009 for b = 1..4, used as bounds; nothing for other b.
std::optional<double> theorem1_refined(int bits);

/// Panter & Dite's integral at finite d: d C_d / 12 * B(1/2, (d+3)/6)^3 * 4^-b, increasing to kPanterDite * 4^-b for
/// d >= 3. d >= 2.
double panter_dite(std::int64_t d, int bits);

/// Theorem 2: d * D_prod <= sqrt(3) pi^2 * 4^-b for unit y, b the total bits (b - 1 for the levels, 1 for the sketch).
double theorem2_times_d(int bits);
/// Its "refined" values 1.57, 0.56, 0.18, 0.047 for b = 1..4, used as bounds; nothing for other b. They are pi/2 times
/// 1 and Theorem 1's values at b - 1 bits, cut off once more: all four lie below what the method reaches.
std::optional<double> theorem2_refined_times_d(int bits);
/// What they should be: (pi/2) D of the Gaussian limit, 1.5708, 0.5708, 0.1845, 0.05427, rounded up to three digits. D
/// on the sphere is smaller at every d, so these are bounds: 1.58, 0.571, 0.185, 0.0543.
std::optional<double> theorem2_refined_corrected_times_d(int bits);

/// Theorem 3 as printed: D >= 4^-b for every quantizer.
double printed_lower_bound(int bits);
enum class LowerBoundStatus {
  kProved,  ///< the cap converse lies above 4^-b: true for every fixed-rate code
  kFalse,   ///< a code below it is known: d = 2, where the optimal scalar quantizer has D < 4^-b
  kOpen,    ///< neither: the printed proof does not cover it, since the exact rate-distortion function is below 4^-b
};
/// Where the printed bound is valid; false for every fixed d once b is large enough.
LowerBoundStatus printed_lower_bound_status(std::int64_t d, int bits);

/// Exact mean squared error of TurboQuant_prod's estimate of <y, x>, unit y, at y orthogonal to x and y = x. The sketch
/// acts on the residual r of a level stage with moments m.
struct ProductError {
  double perpendicular = 0;
  double parallel = 0;
};
/// Gaussian sketch of s rows: ((pi/2) D - E <r,y>^2) / s.
ProductError prod_error_gaussian(std::int64_t d, std::int64_t rows, const MseMoments& m);
/// Square orthogonal sketch with scale sqrt(pi/2)/sqrt(d), divided by beta_d when `repaired` (see sketch.h).
ProductError prod_error_orthogonal(std::int64_t d, const MseMoments& m, bool repaired);
/// Moments of the empty level stage (b - 1 = 0): r = x.
MseMoments empty_stage();

/// |<y, x>| above which TurboQuant_prod at b bits has the smaller mean squared error than TurboQuant_mse at b bits, in
/// the Gaussian limit: rho^2 D_b^2 + (1 - rho^2) D_b (1 - D_b) / d = v / d, with v the product variance times d. 1 when
/// prod never wins, 0 when it always does.
double crossover_correlation(std::int64_t d, double mse_distortion, double prod_variance_times_d);

/// Inner-product variance times d for y orthogonal to x as d grows, by scale rule of a code of distortion D: raw and
/// biased D (1 - D); matched D; unbiased D / (1 - D).
double raw_variance_times_d(double distortion);
double unbiased_variance_times_d(double distortion);

}  // namespace orthant::bounds

#pragma once

#include <cstdint>

namespace orthant::bounds {

/// What RaBitQ (Gao & Long, SIGMOD 2024, arXiv 2405.12497) and its multi-bit extension promise. o is a unit vector in
/// R^d, o_bar its rotated sign code, a = <o_bar, o>; the estimate of <o, q> is <o_bar, q> / a.

/// E a = sqrt(d/pi) Gamma(d/2) / Gamma((d+1)/2), and E a^2 = 2/pi + (1 - 2/pi)/d, exactly. d >= 1.
double rabitq_mean_alignment(std::int64_t d);
double rabitq_mean_square_alignment(std::int64_t d);

/// Theorem 3.2: P(|error| > sqrt(1/a^2 - 1) e0 / sqrt(d-1)) <= 2 exp(-c0 e0^2), with c0 = 1/2, a valid constant (the
/// cap bound); the paper leaves c0 unspecified.
double rabitq_tail_theorem(double e0);
/// The same probability exactly, at cosine rho: |X| sqrt(1 - rho^2) > e0 / sqrt(d-1), X a coordinate of S^{d-2}.
/// Largest at rho = 0. d >= 2.
double rabitq_tail_exact(std::int64_t d, double e0, double rho);
/// 1 - rabitq_tail_exact(d, e0, 0): 0.943 at the default e0 = 1.9, which is described as nearly perfect confidence.
double rabitq_coverage(std::int64_t d, double e0);

/// The empirical rule of the extension: with probability 0.999 the error is below 5.75 * 2^-b / sqrt(d).
double rabitq_error_rule(std::int64_t d, int bits);
/// The constant that the rule should carry at q orthogonal to o as d grows, c = z 2^b sqrt(D / (1 - D)) with z = 3.2905
/// the two-sided 99.9 % point and D the relative distortion of the best uniform grid: 5.69 at b = 4, 7.89 at b = 8,
/// unbounded.
double rabitq_error_constant(double uniform_distortion, int bits);

}  // namespace orthant::bounds

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>

#include "orthant/bounds/mse_moments.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"

// Two tables of a dossier on these methods, computed there by quadrature at 30 digits and printed to a few: every
// number must come out here, to half a unit of its last printed digit.
namespace orthant::bounds {
namespace {

/// Half a unit of the last digit of a printed decimal, and a little for the rounding of the comparison.
double half_unit(const std::string& printed) {
  const std::size_t exponent_at = printed.find('e');
  const std::string digits = printed.substr(0, exponent_at);
  const std::size_t point = digits.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  const int exponent = exponent_at == std::string::npos ? 0 : std::stoi(printed.substr(exponent_at + 1));
  return 0.5001 * std::pow(10.0, exponent - decimals);
}

void expect_printed(double value, const std::string& printed) {
  EXPECT_NEAR(value, std::strtod(printed.c_str(), nullptr), half_unit(printed));
}

struct MomentsRow {
  std::int64_t d;
  int bits;
  const char* spread;         // sd(|r|^2) / D
  const char* on_key;         // E <r, x>^2
  const char* alignment;      // Var <x_hat, x>
  const char* perpendicular;  // d Var <x_hat, y>, y orthogonal to x
};

constexpr MomentsRow kMoments[] = {
    {32, 1, "0.16611", "0.1257222", "0.00086131", "0.2349774"},
    {32, 2, "0.25399", "0.01678578", "0.0043312", "0.09787307"},
    {32, 3, "0.33646", "0.003151268", "0.0021105", "0.03004882"},
    {32, 4, "0.42499", "0.0007398678", "0.00066289", "0.008293118"},
    {64, 1, "0.11699", "0.128881", "0.00043947", "0.2331493"},
    {64, 2, "0.18469", "0.01536502", "0.0022489", "0.1007347"},
    {64, 3, "0.25422", "0.002253077", "0.0011381", "0.03163201"},
    {64, 4, "0.33372", "0.0004514368", "0.00036805", "0.00881786"},
    {96, 1, "0.095396", "0.1299352", "0.00029495", "0.232543"},
    {96, 2, "0.15219", "0.0148601", "0.0015181", "0.1017071"},
    {96, 3, "0.21216", "0.001918609", "0.00077796", "0.03219018"},
    {96, 4, "0.28218", "0.000339733", "0.00025411", "0.009007465"},
    {128, 1, "0.082562", "0.1304625", "0.00022195", "0.2322404"},
    {128, 2, "0.1324", "0.01460165", "0.0011456", "0.1021968"},
    {128, 3, "0.18574", "0.001744472", "0.00059079", "0.03247517"},
    {128, 4, "0.24868", "0.0002807128", "0.00019395", "0.00910521"},
    {256, 1, "0.058324", "0.1312537", "0.00011153", "0.2317873"},
    {256, 2, "0.09426", "0.0142064", "0.00057816", "0.1029357"},
    {256, 3, "0.13349", "0.001474428", "0.00030095", "0.03291013"},
    {256, 4, "0.18051", "0.0001880569", "9.9555e-05", "0.009255627"},
    {1536, 1, "0.023792", "0.1319133", "1.8665e-05", "0.2314104"},
    {1536, 2, "0.038699", "0.01387003", "9.7106e-05", "0.1035555"},
    {1536, 3, "0.055235", "0.001241125", "5.0943e-05", "0.03327956"},
    {1536, 4, "0.075312", "0.0001069323", "1.696e-05", "0.009384555"},
};

TEST(TheoryTables, FiniteDimensionMoments) {
  for (const MomentsRow& row : kMoments) {
    SCOPED_TRACE("d = " + std::to_string(row.d) + ", b = " + std::to_string(row.bits));
    const MseMoments m = mse_moments(row.d, optimal_levels(CoordinateLaw::sphere(row.d), row.bits));
    expect_printed(std::sqrt(m.distortion_variance) / m.distortion, row.spread);
    expect_printed(m.residual_on_key, row.on_key);
    expect_printed(m.alignment_variance, row.alignment);
    expect_printed(static_cast<double>(row.d) * m.perpendicular_variance, row.perpendicular);
  }
}

struct VarianceRow {
  int bits;
  const char* prod_gaussian;
  const char* prod_orthogonal;
  const char* eden;
  const char* rabitq;  // best uniform grid
  const char* mse_variance;
  const char* mse_bias;
  const char* floor;
  const char* theorem2;
};

constexpr VarianceRow kVariances[] = {
    {1, "1.5708", "0.5708", "0.5708", "0.5708", "0.23134", "0.36338", "0.33333", "4.2737"},
    {2, "0.5708", "0.20742", "0.13312", "0.13488", "0.10368", "0.11748", "0.066667", "1.0684"},
    {3, "0.18454", "0.067058", "0.035784", "0.038896", "0.033354", "0.034548", "0.015873", "0.2671"},
    {4, "0.054267", "0.01972", "0.0095921", "0.011678", "0.0094107", "0.009501", "0.0039216", "0.066776"},
    {5, "0.014924", "0.0054231", "0.002511", "0.0035075", "0.0024984", "0.0025047", "0.00097752", "0.016694"},
    {6, "0.0039343", "0.0014297", "0.00064465", "0.0010411", "0.00064382", "0.00064424", "0.0002442", "0.0041735"},
    {7, "0.001012", "0.00036773", "0.0001635", "0.00030443", "0.00016345", "0.00016348", "6.1039e-05", "0.0010434"},
    {8, "0.00025679", "9.3313e-05", "4.1187e-05", "8.7694e-05", "4.1183e-05", "4.1185e-05", "1.5259e-05", "0.00026084"},
};

TEST(TheoryTables, InnerProductVariancesInTheLimit) {
  const CoordinateLaw law = CoordinateLaw::gaussian();
  for (const VarianceRow& row : kVariances) {
    SCOPED_TRACE("b = " + std::to_string(row.bits));
    const double d = distortion(law, optimal_levels(law, row.bits));
    const double before = distortion(law, optimal_levels(law, row.bits - 1));
    expect_printed(std::numbers::pi / 2 * before, row.prod_gaussian);
    expect_printed((std::numbers::pi / 2 - 1) * before, row.prod_orthogonal);
    expect_printed(unbiased_variance_times_d(d), row.eden);
    expect_printed(unbiased_variance_times_d(optimal_uniform_grid(law, row.bits).distortion), row.rabitq);
    expect_printed(raw_variance_times_d(d), row.mse_variance);
    expect_printed(d, row.mse_bias);
    expect_printed(1 / (std::pow(4.0, row.bits) - 1), row.floor);
    expect_printed(theorem2_times_d(row.bits), row.theorem2);
  }
}

}  // namespace
}  // namespace orthant::bounds

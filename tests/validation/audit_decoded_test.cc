#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/core/error.h"
#include "orthant/core/workspace.h"
#include "orthant/transform/haar.h"
#include "orthant/validation/audit.h"
#include "validation/dependence.h"
#include "validation/simulated_codes.h"

namespace orthant::validation {
namespace {

std::string faults(const AuditResult& result) {
  std::string ids;
  for (const Finding& f : result.findings) ids += f.fault ? f.id + ' ' : std::string();
  return ids;
}

std::string text_of(const AuditResult& result, const std::string& id) {
  for (const Finding& f : result.findings) {
    if (f.id == id) return f.text;
  }
  return {};
}

AuditResult audit(const Matrix<float>& x, const Matrix<float>& x_hat, int bits, std::size_t dim = 0) {
  DecodedOptions options;
  if (bits > 0) options.bits = bits;
  options.dim = dim;
  return audit_decoded(x.view(), x_hat.view(), options);
}

/// Optimal codes of b bits, all of them times one factor.
Matrix<float> rounded_by(const Matrix<float>& x, int b, double factor) {
  Matrix<float> x_hat = rounded(x, sphere_levels(x.cols(), b));
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (float& v : x_hat.row(i)) v *= static_cast<float>(factor);
  }
  return x_hat;
}

/// x_hat scaled vector by vector, as the four rules do.
enum class Rule { kMatched, kLeastSquares, kUnbiased };
Matrix<float> rescaled(const Matrix<float>& x, Matrix<float> x_hat, Rule rule) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double along = dot(x.row(i), x_hat.row(i));
    const double square = dot(x_hat.row(i), x_hat.row(i));
    const double s = rule == Rule::kMatched        ? 1 / std::sqrt(square)
                     : rule == Rule::kLeastSquares ? along / square
                                                   : 1 / along;
    for (float& v : x_hat.row(i)) v = static_cast<float>(s * static_cast<double>(v));
  }
  return x_hat;
}

TEST(AuditDecoded, AccusesNoCorrectCode) {
  for (const std::size_t d : {64U, 128U}) {
    const Matrix<float> x = unit_vectors(2000, d, "correct");
    for (int b = 1; b <= 8; ++b) {
      const Matrix<float> raw = rounded(x, sphere_levels(d, b));
      EXPECT_EQ(faults(audit(x, raw, b)), "") << d << ' ' << b;
      EXPECT_EQ(audit(x, raw, 0).bits, b);
      const Matrix<float> unbiased = rescaled(x, raw, Rule::kUnbiased);
      const Matrix<float> matched = rescaled(x, raw, Rule::kMatched);
      const Matrix<float> least = rescaled(x, raw, Rule::kLeastSquares);
      for (const Matrix<float>* x_hat : {&unbiased, &matched, &least}) {
        EXPECT_EQ(faults(audit(x, *x_hat, b)), "") << d << ' ' << b;
      }
      if (b <= 4) {  // beyond, the rules differ by less than a 16-bit scale rounds
        EXPECT_NE(text_of(audit(x, unbiased, b), "scale-rule").find("unbiased"), std::string::npos);
        EXPECT_NE(text_of(audit(x, matched, b), "scale-rule").find("matched"), std::string::npos);
      }
      // The Gaussian table costs 0.11 % at d = 128, b = 4: a remark at most.
      const auto gaussian = bounds::optimal_levels(bounds::CoordinateLaw::gaussian(), b);
      EXPECT_EQ(faults(audit(x, rounded(x, scaled(gaussian, 1 / std::sqrt(static_cast<double>(d)))), b)), "");
      const auto law = bounds::CoordinateLaw::sphere(static_cast<std::int64_t>(d));
      const double step = bounds::optimal_uniform_grid(law, b).step;
      std::vector<double> grid(std::size_t{1} << b);
      for (std::size_t k = 0; k < grid.size(); ++k) {
        grid[k] = (static_cast<double>(k) - static_cast<double>(grid.size() - 1) / 2) * step;
      }
      EXPECT_EQ(faults(audit(x, rounded(x, grid), b)), "") << d << ' ' << b;
    }
  }
}

// FAISS issue 5317: a codebook for unit-variance coordinates on unit vectors. 68, 19.1, 4.26, .783 at d = 128.
TEST(AuditDecoded, MissingDimensionFactor) {
  const Matrix<float> x = unit_vectors(2000, 128, "missing factor");
  const double measured[] = {68.1, 19.1, 4.26, 0.783};
  for (const int b : {1, 2, 3, 4, 8}) {
    const Matrix<float> x_hat = rounded(x, scaled(sphere_levels(128, b), std::sqrt(128.0)));
    for (const int told : {b, 0}) {
      if (told == 0 && b == 8) continue;  // looks like a fair code of 5 bits: only the true rate convicts
      const AuditResult result = audit(x, x_hat, told);
      EXPECT_EQ(faults(result), "level-scale ") << b;
      EXPECT_EQ(result.bits, b);
      EXPECT_NE(text_of(result, "level-scale").find("1/sqrt(d) is missing"), std::string::npos);
      if (b <= 4) {
        EXPECT_NEAR(result.measurements[1].value, measured[b - 1], 0.01 * measured[b - 1]);
      }
    }
  }
}

// Levels for d = 128 on vectors normalised in blocks of 32: 3 bits 0.1284 in place of 0.0323.
TEST(AuditDecoded, LevelsOfAnotherBlock) {
  Matrix<float> x(500, 128);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    RngStream rng(1, claim_domain("blocks"), i);
    for (std::size_t first = 0; first < 128; first += 32) rng.fill_unit_vector(x.row(i).subspan(first, 32));
  }
  for (const int b : {3, 4}) {
    const AuditResult result = audit(x, rounded(x, sphere_levels(128, b)), b, 32);
    EXPECT_EQ(faults(result), "level-scale ");
    EXPECT_NE(text_of(result, "level-scale").find("d = 128"), std::string::npos);
    EXPECT_EQ(faults(audit(x, rounded(x, sphere_levels(32, b)), b, 32)), "");
  }
  // A slip in the standard deviation, 1/sqrt(2d).
  const Matrix<float> y = unit_vectors(2000, 128, "sqrt two");
  const AuditResult slip = audit(y, rounded(y, scaled(sphere_levels(128, 4), 1 / std::sqrt(2.0))), 4);
  EXPECT_EQ(faults(slip), "level-scale ");
}

TEST(AuditDecoded, ReconstructionFromTheSignsAlone) {
  const Matrix<float> x = unit_vectors(2000, 128, "signs");
  const Matrix<float> x_hat = rescaled(x, rounded(x, sphere_levels(128, 1)), Rule::kUnbiased);
  const AuditResult result = audit(x, x_hat, 4);
  EXPECT_EQ(faults(result), "directions ");
  EXPECT_NE(text_of(result, "directions").find("1 of 4 bits"), std::string::npos);
  EXPECT_NEAR(result.measurements[1].value, 0.567, 0.01);  // what the decode of a known library gives at every width
}

// An outermost level of half the right size, error doubled: a table seen in the wild.
TEST(AuditDecoded, BadDirections) {
  const Matrix<float> x = unit_vectors(2000, 128, "bad table");
  std::vector<double> levels = sphere_levels(128, 4);
  levels.front() *= 0.73;
  levels.back() *= 0.73;
  levels[1] *= 0.85;
  levels[14] *= 0.85;
  const AuditResult result = audit(x, rounded(x, levels), 4);
  EXPECT_EQ(faults(result), "directions ");
}

// Multi-bit RaBitQ whose search for the scale starts too late, as shipped: 1 - cos^2 is .1251 and .0132 at 2 and 4
// bits, where a whole search reaches .1156 and .00998. 3 bits are right either way.
TEST(AuditDecoded, SearchThatStartsTooLate) {
  const Matrix<float> x = unit_vectors(2000, 128, "late search");
  const double lost[] = {0.1251, 0.0350, 0.0132};
  for (int b = 2; b <= 4; ++b) {
    SCOPED_TRACE(b);
    const AuditResult late = audit(x, grid_codes(x, b, true), b);
    EXPECT_EQ(faults(late), b == 3 ? "" : "directions ");
    EXPECT_NEAR(late.measurements[3].value, lost[b - 2], 0.02 * lost[b - 2]);
    EXPECT_EQ(faults(audit(x, grid_codes(x, b, false), b)), "");
  }
}

TEST(AuditDecoded, RowsOfAnotherOrderAndOfTheOtherSign) {
  const Matrix<float> x = unit_vectors(2000, 128, "order");
  const Matrix<float> x_hat = rounded(x, sphere_levels(128, 2));
  Matrix<float> shifted(2000, 128);
  Matrix<float> negative(2000, 128);
  for (std::size_t i = 0; i < 2000; ++i) {
    for (std::size_t j = 0; j < 128; ++j) {
      shifted(i, j) = x_hat((i + 1) % 2000, j);
      negative(i, j) = -x_hat(i, j);
    }
  }
  const AuditResult order = audit(x, shifted, 2);
  EXPECT_EQ(faults(order), "directions ");
  EXPECT_NE(text_of(order, "directions").find("another order of the rows"), std::string::npos);
  const AuditResult sign = audit(x, negative, 2);
  EXPECT_EQ(faults(sign), "scale ");
  EXPECT_NE(text_of(sign, "scale").find("their sign is not"), std::string::npos);
}

// Five percent in length cost 1.7 % of error at two bits, too little to accuse, but every product is off by five
// percent.
TEST(AuditDecoded, OneWrongLengthForAllCodes) {
  const Matrix<float> x = unit_vectors(2000, 128, "length");
  for (int b = 1; b <= 4; ++b) {
    const double d = bounds::distortion(bounds::CoordinateLaw::sphere(128), sphere_levels(128, b));
    const auto remark = [&](double factor) {
      const AuditResult result = audit(x, rounded_by(x, b, factor), b);
      return result.faulty() ? "fault" : text_of(result, "length");
    };
    EXPECT_EQ(remark(1), "") << b;
    EXPECT_EQ(remark(1 / (1 - d)), "") << b;           // unbiased
    EXPECT_EQ(remark(1 / std::sqrt(1 - d)), "") << b;  // as long as the vectors
    if (b > 2) continue;                               // 5 % of length is a fault of its own beyond
    EXPECT_NE(remark(0.95).find("too short"), std::string::npos) << b;
    if (b < 2) continue;
    EXPECT_NE(remark(1.05).find("x_hat is 5."), std::string::npos) << remark(1.05);
    EXPECT_NE(remark(1.05).find("too long"), std::string::npos) << remark(1.05);
  }
}

// One vector in a hundred equals a row of the rotation, as when both come from one seed: rotated, it is one-hot.
TEST(AuditDecoded, SeedCollision) {
  Matrix<float> x = unit_vectors(2000, 128, "collision");
  for (std::size_t i = 0; i < x.rows(); i += 100) {
    for (float& v : x.row(i)) v *= 0.5F;
    x(i, i % 128) = std::sqrt(0.75F);
  }
  const AuditResult result = audit(x, rounded(x, sphere_levels(128, 4)), 4);
  EXPECT_NE(faults(result).find("tail"), std::string::npos);
}

TEST(AuditDecoded, TooGoodLostAndNotFinite) {
  const Matrix<float> x = unit_vectors(500, 64, "good");
  EXPECT_EQ(faults(audit(x, x, 4)), "converse ");
  // Nobody said 4 bits: a lossless copy, or one rounded to float's precision, breaks no bound.
  EXPECT_EQ(faults(audit(x, x, 0)), "");
  EXPECT_NE(text_of(audit(x, x, 0), "rate").find("finer"), std::string::npos);
  Matrix<float> x_hat = rounded(x, sphere_levels(64, 4));
  std::ranges::fill(x_hat.row(7), 0.0F);
  EXPECT_EQ(faults(audit(x, x_hat, 4)), "lost ");
  x_hat = rounded(x, sphere_levels(64, 4));
  x_hat(3, 5) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(faults(audit(x, x_hat, 4)), "not-finite ");
  // Zero vectors are counted and left out.
  Matrix<float> zeros = unit_vectors(500, 64, "good");
  x_hat = rounded(x, sphere_levels(64, 4));
  std::ranges::fill(zeros.row(0), 0.0F);
  std::ranges::fill(x_hat.row(0), 0.0F);
  EXPECT_EQ(faults(audit(zeros, x_hat, 4)), "");
}

/// Rows of one direction and some noise, as keys of attention layers are.
Matrix<float> concentrated(std::size_t n, std::size_t d) {
  Matrix<float> x = unit_vectors(n, d, "concentrated");
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j) x(i, j) = x(i, j) / 3 + (j == 3 ? 1.0F : 0.0F);
    const float norm = static_cast<float>(std::sqrt(dot(x.row(i), x.row(i))));
    for (float& v : x.row(i)) v /= norm;
  }
  return x;
}

TEST(IndependentRows, CountsWhatPointsElsewhere) {
  EXPECT_GT(independent_rows(unit_vectors(1000, 64, "independent").view()), 999);
  EXPECT_LT(independent_rows(concentrated(1000, 64).view()), 2);
  Matrix<float> same(500, 64);
  for (std::size_t i = 0; i < same.rows(); ++i) same(i, 5) = 2;
  EXPECT_NEAR(independent_rows(same.view()), 1, 0.01);
}

// One rotation for all rows is good or bad luck for all of them: a correct code stays uncharged under each of 20
// rotations. With rows taken as independent, more than half of these runs end with a fault.
TEST(AuditDecoded, ConcentratedRowsUnderOneRotationAreNotAccused) {
  constexpr std::size_t kDim = 64;
  const Matrix<float> x = concentrated(500, kDim);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const transform::Haar rotation(kDim, seed);
    Workspace work(rotation.workspace_bytes(x.rows()));
    Matrix<float> y(x.rows(), kDim);
    rotation.apply_keys(x.view(), y.view(), work);
    const Matrix<float> code = rounded(y, sphere_levels(kDim, 1));
    Matrix<float> x_hat(x.rows(), kDim);
    rotation.invert_keys(code.view(), x_hat.view(), work);
    const AuditResult result = audit(x, x_hat, 1);
    EXPECT_EQ(faults(result), "") << seed;
    EXPECT_TRUE(std::any_of(result.findings.begin(), result.findings.end(),
                            [](const Finding& f) { return f.id == "concentrated"; }));
  }
}

TEST(AuditDecoded, RefusalSaysWhatBecameOfTheVectors) {
  const Matrix<float> x = unit_vectors(150, 64, "refused");
  Matrix<float> nothing(150, 64);
  nothing(0, 3) = std::numeric_limits<float>::infinity();
  try {
    audit(x, nothing, 2);
    FAIL() << "no vector was decoded";
  } catch (const InvalidInput& e) {
    EXPECT_STREQ(e.what(),
                 "x_hat: vectors, got 0 usable, 0 zero, 149 decoded to zero, 1 not finite in single precision, "
                 "expected 100 usable or more");
  }
}

TEST(AuditDecoded, Refusals) {
  const Matrix<float> x = unit_vectors(200, 64, "refusals");
  const Matrix<float> few = unit_vectors(50, 64, "refusals");
  EXPECT_THROW(audit(x, few, 4), InvalidInput);
  EXPECT_THROW(audit(few, few, 4), InvalidInput);
  EXPECT_THROW(audit(x, x, 9), InvalidArgument);
  EXPECT_THROW(audit(x, x, 4, 48), InvalidArgument);
  EXPECT_THROW(audit(x, x, 4, 4), InvalidArgument);
  EXPECT_THROW(audit(x, unit_vectors(200, 32, "refusals"), 4), InvalidInput);
}

}  // namespace
}  // namespace orthant::validation

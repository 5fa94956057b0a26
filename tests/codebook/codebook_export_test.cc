#include "orthant/codebook/codebook_export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

/// The numbers between the first "[...] = [" or "{" after `name` and the closing bracket, as `strtod` reads them.
std::vector<double> table(const std::string& text, const std::string& name, char open, char close) {
  const std::size_t start = text.find(open, text.find('=', text.find(name)));
  const std::size_t stop = text.find(close, start);
  std::vector<double> values;
  const char* p = text.data() + start + 1;
  while (p < text.data() + stop) {
    char* end = nullptr;
    const double x = std::strtod(p, &end);
    if (end == p) break;
    values.push_back(x);
    while (end < text.data() + stop && *end != '\n') ++end;
    p = end;
  }
  return values;
}

TEST(CodebookExport, FloatBoundariesAreMidpointsOfFloatCentroids) {
  const FloatTables tables = float_tables(sphere_codebook(128, 8));
  ASSERT_EQ(tables.centroids.size(), 256U);
  for (std::size_t i = 0; i + 1 < tables.centroids.size(); ++i) {
    const double middle = (double{tables.centroids[i]} + double{tables.centroids[i + 1]}) / 2;
    EXPECT_EQ(tables.boundaries[i], static_cast<float>(middle));
  }
  const double close = std::nextafter(1.0, 2.0);
  EXPECT_THROW(float_tables(Codebook("sphere", 3, 1, {1.0, close}, 0, 0)), InvalidArgument);
}

// What rounding to float costs is second order: about (2^-24)^2 c^2 / D relative, 1e-11 at 8 bits.
TEST(CodebookExport, FloatTablesCostNothing) {
  const Codebook book = sphere_codebook(128, 8);
  const FloatTables tables = float_tables(book);
  const density::SphereCoordinate law(128);
  long double distortion = 0;
  for (std::size_t k = 0; k < book.size(); ++k) {
    distortion += law.cell_moments(tables.centroids[k], k == 0 ? -1.0F : tables.boundaries[k - 1],
                                   k + 1 == book.size() ? 1.0F : tables.boundaries[k])
                      .second;
  }
  EXPECT_NEAR(static_cast<double>(distortion) / book.distortion(), 1, 1e-10);
}

TEST(CodebookExport, EveryFormatReadsBackToTheSameBits) {
  const Codebook book = sphere_codebook(80, 5);
  const std::vector<double> centroids(book.centroids().begin(), book.centroids().end());
  const std::vector<double> boundaries(book.boundaries().begin(), book.boundaries().end());
  EXPECT_EQ(table(to_c_header(book), "orthant_sphere_d80_b5_centroids[", '{', '}'), centroids);
  EXPECT_EQ(table(to_c_header(book), "orthant_sphere_d80_b5_boundaries[", '{', '}'), boundaries);
  EXPECT_EQ(table(to_rust(book), "SPHERE_D80_B5_CENTROIDS:", '[', ']'), centroids);
  EXPECT_EQ(table(to_rust(book), "SPHERE_D80_B5_BOUNDARIES:", '[', ']'), boundaries);
  const FloatTables tables = float_tables(book);
  const std::vector<double> floats(tables.centroids.begin(), tables.centroids.end());
  EXPECT_EQ(table(to_cuda_header(book), "orthant_sphere_d80_b5_centroids[", '{', '}'), floats);
  EXPECT_EQ(table(to_c_header(book), "orthant_sphere_d80_b5_centroids_f32[", '{', '}'), floats);
}

TEST(CodebookExport, NamesAreIdentifiers) {
  EXPECT_EQ(export_name(sphere_codebook(128, 4)), "sphere_d128_b4");
  EXPECT_EQ(export_name(gaussian_codebook(3)), "gaussian_b3");
  EXPECT_EQ(export_name(Codebook("gaussian truncated to [-2, 2]", 0, 0, {0.0}, 1, 0)), "gaussian_truncated_to_m2_2_b0");
  const auto name_of = [](const char* law) { return export_name(Codebook(law, 0, 0, {0.0}, 1, 0)); };
  EXPECT_EQ(name_of("gaussian(0, 1) on [-2, 3]"), "gaussian_0_1_on_m2_3_b0");
  EXPECT_EQ(name_of("gaussian(0, 1) on [2, 3]"), "gaussian_0_1_on_2_3_b0");
  EXPECT_EQ(name_of("gaussian(-1, 1) on [-inf, inf]"), "gaussian_m1_1_b0");
  EXPECT_EQ(name_of("gaussian(1, 0.5) on [-inf, 1e-05]"), "gaussian_1_0p5_on_minf_1em05_b0");
  EXPECT_NE(name_of("gaussian(1.5, 1) on [2, 3]"), name_of("gaussian(15, 1) on [2, 3]"));
}

TEST(CodebookExport, NoTableIsEmpty) {
  const Codebook book = sphere_codebook(8, 0);
  EXPECT_EQ(to_c_header(book).find("boundaries["), std::string::npos);
  EXPECT_EQ(to_rust(book).find("BOUNDARIES:"), std::string::npos);
  EXPECT_EQ(to_csv(book), "level,centroid,upper_boundary\n0,0,\n");
  // One code: the encoder reads its argument for -Wunused-parameter alone.
  EXPECT_NE(to_cuda_header(book).find("encode(float x) {\n  unsigned code = 0;\n  (void)x;\n  return code;"),
            std::string::npos);
}

TEST(CodebookExport, OnlyTheSphereHasADimension) {
  EXPECT_NE(to_c_header(sphere_codebook(8, 2)).find("density sphere, dim 8, bits 2."), std::string::npos);
  EXPECT_NE(to_c_header(gaussian_codebook(2)).find("density gaussian, bits 2."), std::string::npos);
}

}  // namespace
}  // namespace orthant::codebook

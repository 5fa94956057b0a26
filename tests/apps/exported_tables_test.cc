// Tables written by `orthant codebook --format c|cuda`, compiled and compared with the library, bit for bit.
#include <gtest/gtest.h>

#include "codebook.h"
#include "orthant/codebook/codebook_export.h"
#include "orthant/codebook/lloyd_max.h"

#define __constant__ constexpr
#define __device__ inline
#define __forceinline__
namespace cuda {
#include "codebook.cuh"
}

extern "C" {
double c_centroid(int k);
double c_boundary(int i);
float c_centroid_f32(int k);
float c_boundary_f32(int i);
}

namespace orthant::codebook {
namespace {

static_assert(orthant_sphere_d128_b4_levels == 16);
static_assert(orthant_sphere_d128_b4_boundaries[7] == 0, "usable in constant expressions");

TEST(ExportedTables, AreTheLibrarysBits) {
  const Codebook book = sphere_codebook(128, 4);
  const FloatTables floats = float_tables(book);
  for (int k = 0; k < 16; ++k) {
    const auto i = static_cast<std::size_t>(k);
    EXPECT_EQ(orthant_sphere_d128_b4_centroids[k], book.centroids()[i]);
    EXPECT_EQ(c_centroid(k), book.centroids()[i]);
    EXPECT_EQ(c_centroid_f32(k), floats.centroids[i]);
    EXPECT_EQ(cuda::orthant_sphere_d128_b4_centroids[k], floats.centroids[i]);
    if (k == 15) break;
    EXPECT_EQ(orthant_sphere_d128_b4_boundaries[k], book.boundaries()[i]);
    EXPECT_EQ(c_boundary(k), book.boundaries()[i]);
    EXPECT_EQ(c_boundary_f32(k), floats.boundaries[i]);
  }
}

TEST(ExportedTables, CudaEncoderCountsBoundariesBelow) {
  const FloatTables floats = float_tables(sphere_codebook(128, 4));
  for (std::size_t k = 0; k < floats.centroids.size(); ++k) {
    EXPECT_EQ(cuda::orthant_sphere_d128_b4_encode(floats.centroids[k]), k);
    EXPECT_EQ(cuda::orthant_sphere_d128_b4_decode(static_cast<unsigned>(k)), floats.centroids[k]);
  }
  for (std::size_t i = 0; i < floats.boundaries.size(); ++i) {
    EXPECT_EQ(cuda::orthant_sphere_d128_b4_encode(floats.boundaries[i]), i) << "a tie goes down";
  }
  EXPECT_EQ(cuda::orthant_sphere_d128_b4_encode(-2), 0U);
  EXPECT_EQ(cuda::orthant_sphere_d128_b4_encode(2), 15U);
}

}  // namespace
}  // namespace orthant::codebook

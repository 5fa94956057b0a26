#pragma once

#include <string>
#include <vector>

#include "orthant/codebook/codebook.h"

namespace orthant::codebook {

/// The codebook in single precision: centroids rounded to the nearest float, boundaries the midpoints of the rounded
/// centroids, rounded again. code(x) = #{i : boundary_i < x} as for doubles.
/// Throws InvalidArgument when two centroids round to the same float.
struct FloatTables {
  std::vector<float> centroids;
  std::vector<float> boundaries;
};
FloatTables float_tables(const Codebook& book);

/// "sphere_d128_b4", "gaussian_b4", "gaussian_m1_0p5_on_m2_inf_b4": the identifier that the exported tables carry. In a
/// number m stands for minus and p for the point, so that laws of different parameters have different names.
std::string export_name(const Codebook& book);

/// Source text, complete files. Every value reads back to the same bits.
///   C99 and C++17 header: static const / constexpr arrays of double and float, centroids and boundaries
///   CUDA header: the float tables in __constant__ memory and an encode / decode device function
///   Rust: pub const arrays of f64 and f32
///   CSV: level, centroid, upper boundary of the cell (empty for the last), 17 digits
std::string to_c_header(const Codebook& book);
std::string to_cuda_header(const Codebook& book);
std::string to_rust(const Codebook& book);
std::string to_csv(const Codebook& book);

}  // namespace orthant::codebook

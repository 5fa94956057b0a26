#include "codebook.h"

double c_centroid(int k) { return orthant_sphere_d128_b4_centroids[k]; }
double c_boundary(int i) { return orthant_sphere_d128_b4_boundaries[i]; }
float c_centroid_f32(int k) { return orthant_sphere_d128_b4_centroids_f32[k]; }
float c_boundary_f32(int i) { return orthant_sphere_d128_b4_boundaries_f32[i]; }

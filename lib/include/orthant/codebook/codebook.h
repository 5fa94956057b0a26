#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orthant::codebook {

/// A scalar quantizer of N = 2^bits levels for one coordinate.
///   centroids  c_0 < ... < c_{N-1};   boundaries  t_i = (c_i + c_{i+1}) / 2, i < N - 1, rounded to double
///   code(x) = #{i : t_i < x}: a tie goes to the lower index.   bits = 0: the single centroid is the mean.
/// Immutable value type; safe to share between threads.
class Codebook {
 public:
  /// Throws InvalidArgument unless there are 2^bits finite, strictly increasing centroids, 0 <= bits <= 16.
  /// density: "sphere", "gaussian", ...; dim: the d of the sphere S^{d-1}, 0 for a law without one.
  /// distortion: E (X - c(X))^2 of one coordinate; entropy: of the code, in bits.
  Codebook(std::string density, std::int64_t dim, int bits, std::vector<double> centroids, double distortion,
           double entropy);
  /// The same with boundaries rounded once from more digits than the centroids have here. Throws InvalidArgument
  /// unless each lies strictly between its centroids and within 2 ulp of the larger of them from their midpoint.
  Codebook(std::string density, std::int64_t dim, int bits, std::vector<double> centroids,
           std::vector<double> boundaries, double distortion, double entropy);

  const std::string& density() const { return density_; }
  std::int64_t dim() const { return dim_; }
  int bits() const { return bits_; }
  std::size_t size() const { return centroids_.size(); }
  std::span<const double> centroids() const { return centroids_; }
  std::span<const double> boundaries() const { return boundaries_; }
  double distortion() const { return distortion_; }
  double entropy() const { return entropy_; }

  std::size_t code(double x) const;

 private:
  std::string density_;
  std::int64_t dim_;
  int bits_;
  std::vector<double> centroids_;
  std::vector<double> boundaries_;
  double distortion_;
  double entropy_;
};

}  // namespace orthant::codebook

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"
#include "orthant/transform/rotation.h"

namespace orthant::quantizer {

enum class SketchKind : std::uint8_t {
  kGaussian,    ///< independent N(0, 1) entries: QJL and TurboQuant as published
  kOrthogonal,  ///< blocks of sqrt(d) times Haar rotations: TurboQuant and QJL as their code has it
  kHadamard,    ///< blocks of sqrt(d) times three rounds of randomized Hadamard
};

/// A random (m, d) matrix S whose signs z = sign(S r), sign(0) = +1, keep the direction of r (QJL, Zandieh et al.
/// 2024):
///   E[ factor() <S q, z> ] = <q, r> / |r|       factor() = sqrt(pi/2) / (m beta)
///   Gaussian       beta = 1          d = m:  Var = (pi/2 - rho^2) / m exactly, rho = <q, r> / |q||r|, |q| = 1
///   orthogonal     beta = sqrt(d/2) Gamma(d/2) / Gamma((d+1)/2) = 1 + 1/(4d) + O(d^-2): exact for every m and d;
///                  m = d, q orthogonal to r:  Var = (pi/2 - 1) / (d beta^2), 2.75 times less than Gaussian
///   Hadamard       the same beta: no exact law
/// Without beta (as released) the orthogonal sketch overestimates by 1/(4d).
/// Random numbers: RngStream(seed, Domain::kSketch, index + block * 2^48). Immutable; calls may run concurrently.
class Sketch {
 public:
  /// dim and rows at least 1 (InvalidArgument). Keeps 8 d^2 bytes (Gaussian) or a rotation for every d rows begun.
  Sketch(SketchKind kind, std::size_t dim, std::size_t rows, std::uint64_t seed, std::uint64_t index = 0);

  SketchKind kind() const { return kind_; }
  std::size_t dim() const { return dim_; }
  std::size_t rows() const { return rows_; }
  double beta() const { return beta_; }
  double factor() const { return factor_; }
  /// For one vector.
  std::size_t workspace_bytes() const;

  /// x: (d) -> s: (m), s = S x. Does not allocate.
  void project(std::span<const float> x, std::span<float> s, Workspace& work) const;
  /// s: (m) -> x: (d), x = S^T s.
  void project_back(std::span<const float> s, std::span<float> x, Workspace& work) const;

 private:
  void apply_block(std::size_t block, bool transposed, MatrixView<float> row, Workspace& work) const;

  SketchKind kind_;
  std::size_t dim_;
  std::size_t rows_;
  double beta_ = 1;
  double factor_;
  std::vector<Matrix<float>> gaussian_;
  std::vector<Matrix<float>> gaussian_transposed_;
  std::vector<std::shared_ptr<const transform::Rotation>> rotations_;
};

/// "gaussian", "orthogonal" or "hadamard".
const char* name(SketchKind kind);

}  // namespace orthant::quantizer

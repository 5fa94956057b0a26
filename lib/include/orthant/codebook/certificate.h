#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orthant::codebook {

/// What a proof established about a codebook. Distortion and entropy are the optimum's, not the rounded table's.
///   Each optimal centroid lies within `radius` standard deviations of the extended solution, in a box that holds no
///   other stationary point (Krawczyk operator in ball arithmetic, Arb). `uniqueness` says why that stationary point
///   is the global optimum. Every double of the file is the one nearest to every point of its enclosure.
struct Certificate {
  int digits = 0;          ///< of the extended solution, in Boost.Multiprecision
  double radius = 0;       ///< of the proven box, in standard deviations
  std::string distortion;  ///< of one coordinate, 30 digits, proved to 1e-28 relative
  std::string entropy;     ///< in bits, 30 digits, proved to 1e-28
  std::string uniqueness;  ///< the theorem, or the evidence
};

struct CodebookFile;

/// True when the library was built with Arb (ORTHANT_WITH_ARB). Without it, what needs a proof throws Error.
bool proofs_available();

/// The optimum for the sphere S^{dim-1} (dim >= 1) or the Gaussian (dim = 0) at 0 <= bits <= 10, every number correctly
/// rounded and proved to be: solved with LloydMax, refined to 60 digits, enclosed; where the enclosure does not decide
/// a rounding, once more at 110 digits. Throws InvalidArgument out of range, Error when the proof does not succeed.
CodebookFile certified_codebook(std::int64_t dim, int bits);

/// The same numbers, with their certificate when proofs_available() and without one when not.
CodebookFile optimal_codebook(std::int64_t dim, int bits);

/// Proves the file again, from its own numbers: what is wrong with it, one line for each fault; empty when every number
/// is the correctly rounded optimum and its certificate says so. Throws InvalidArgument for a density without proofs.
std::vector<std::string> faults(const CodebookFile& file);

}  // namespace orthant::codebook

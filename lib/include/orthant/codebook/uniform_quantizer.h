#pragma once

#include <vector>

#include "orthant/density/density.h"

namespace orthant::codebook {

/// A quantizer of equal steps and what it does on a law. Distortion is that of one coordinate, entropy in bits.
struct UniformQuantizer {
  double step = 0;
  double distortion = 0;
  double entropy = 0;
  std::vector<double> probabilities;
};

/// The 2^bits levels mean + step (k - (N-1)/2) of least distortion: root of
///   dD/dstep = -2 sum_k a_k E[(X - step a_k) 1_{cell k}] = 0,   a_k = k - (N-1)/2     (boundaries are midpoints)
/// by TOMS 748 to 1e-14 relative, in the bracket around the least of 64 steps, up to twice the one that fills the
/// support or 28 standard deviations. bits 1 to 10, else InvalidArgument; so is a law that is not symmetric, whose best
/// centre is not its mean.
UniformQuantizer optimal_uniform(density::DensityView law, int bits);

/// Entropy-coded uniform quantization: cells of one width, as many as the law fills, one centred on the mean, decoded
/// to the mean of the cell; the width that makes the index entropy `entropy` bits. At high rate D tends to pi e / 6 of
/// the Shannon bound, 1.53 dB. Throws InvalidArgument unless 0.1 <= entropy <= 12.
UniformQuantizer entropy_coded_uniform(density::DensityView law, double entropy);

}  // namespace orthant::codebook

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "orthant/codebook/codebook_io.h"
#include "orthant/density/density.h"

namespace orthant::apps {

/// What the user asked a codebook for.
///   sphere                           with dim, the d of S^(d-1)
///   gaussian                         N(0, 1)
///   gaussian:MEAN,SIGMA[,LOW,HIGH]   N(MEAN, SIGMA^2), given that it lies in [LOW, HIGH]
///   laplace                          variance 1
///   samples:FILE                     the points of a file, one a line, a weight after each if there are two columns
struct CodebookLaw {
  std::string density = "sphere";
  std::int64_t dim = 0;  ///< 0: not given
};

/// The optimal codebook. Throws InvalidArgument for a law that is none, InvalidInput for a bad file of samples.
codebook::CodebookFile solve_codebook(const CodebookLaw& law, int bits);

/// Calls body with the law as a density; false when it is not one (samples).
bool with_density(const CodebookLaw& law, const std::function<void(density::DensityView)>& body);

}  // namespace orthant::apps

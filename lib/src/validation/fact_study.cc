#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/codebook/lloyd_max.h"
#include "validation/studies.h"

namespace orthant::validation {

// Statements about the shipped codebook itself: no trials, no error probability.
void add_fact_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  constexpr int kBits = 4;
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const std::vector<double> p = bounds::cell_probabilities(law, bounds::optimal_levels(law, kBits));
  Study study;
  study.experiment.name = "entropy";
  study.channels = {fact("entropy of the index, bits", codebook::sphere_codebook(options.dim, kBits).entropy()),
                    fact("saving of a Huffman code, %", 100 * (1 - bounds::huffman_bits(p) / kBits))};
  study.experiment.channels = study.channels.size();
  Claim claim;
  claim.source = std::string(kTurboQuant) + ", section 3.1";
  claim.valid_for = "b = 4, large d";
  claim.id = "entropy.printed";
  claim.statement = "the index of 4 bits has an entropy of about 3.8 bits";
  claim.form = Form::kPrinted;
  claim.target = 3.8;
  claim.margin = 0.05;
  claim.exact = bounds::entropy_bits(p);
  claim.channels = {0};
  study.claims.push_back(claim);
  claim.id = "entropy.saving";
  claim.statement = "entropy coding saves about 5 % at 4 bits";
  claim.target = 5;
  claim.margin = 0.5;
  claim.exact = 100 * (1 - bounds::huffman_bits(p) / kBits);
  claim.channels = {1};
  study.claims.push_back(claim);
  claim.id = "entropy.exact";
  claim.statement = "H = -sum p log2 p of the optimal cells, 4 bits";
  claim.source = "derived";
  claim.valid_for = "every d";
  claim.form = Form::kExact;
  claim.target = bounds::entropy_bits(p);
  claim.exact = claim.target;
  claim.margin = 1e-10;  // two solvers, each good to 1e-12
  claim.channels = {0};
  study.claims.push_back(claim);
  studies.push_back(std::move(study));
}

}  // namespace orthant::validation

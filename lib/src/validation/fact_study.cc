#include "orthant/bounds/scalar_quantizer.h"
#include "validation/studies.h"

namespace orthant::validation {

// Statements about the shipped codebook and about packed bytes: no trials, no error probability.
namespace {

Study entropy_of_the_index(const ClaimOptions& options) {
  constexpr int kBits = 4;
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(options.dim);
  const std::vector<double> p = bounds::cell_probabilities(law, bounds::optimal_levels(law, kBits));
  const codebook::Codebook book = options.book(options.dim, kBits);
  const std::vector<double> shipped =
      bounds::cell_probabilities(law, {book.centroids().begin(), book.centroids().end()});
  Study study;
  study.experiment.name = "entropy";
  study.channels = {fact("entropy of the index, bits", book.entropy()),
                    fact("saving of a Huffman code, %", 100 * (1 - bounds::huffman_bits(shipped) / kBits))};
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
  return study;
}

/// TurboQuant's split of 128 channels: 32 at 3 bits, 96 at 2.
Study bits_of_split_channels(const ClaimOptions& options) {
  std::size_t bytes = 0;
  std::size_t metadata = 0;
  for (const auto& [method, channels] : {std::pair("turbo-mse:3", 32), std::pair("turbo-mse:2", 96)}) {
    const auto part = options.subject(method, static_cast<std::size_t>(channels), options.seed, 0);
    bytes += part->bytes_per_vector();
    metadata += part->metadata_bytes();
  }
  constexpr double kChannels = 128;
  Study study;
  study.experiment.name = "split channels";
  study.channels = {fact("bits of the indices", 8 * static_cast<double>(bytes - metadata) / kChannels),
                    fact("bits, norms included", 8 * static_cast<double>(bytes) / kChannels)};
  study.experiment.channels = study.channels.size();
  Claim claim;
  claim.margin = 1e-9;
  claim.valid_for = "32 channels at 3 bits, 96 at 2";
  claim.source = std::string(kTurboQuant) + ", section 4.3";
  claim.id = "bits.split-printed";
  claim.statement = "(32 * 3 + 96 * 2)/128 = 2.5 bits";
  claim.form = Form::kPrinted;
  claim.target = 2.5;
  claim.exact = 2.25;
  claim.channels = {0};
  study.claims.push_back(claim);
  claim.id = "bits.split-indices";
  claim.statement = "(32 * 3 + 96 * 2)/128 = 2.25 bits";
  claim.form = Form::kCorrected;
  claim.target = 2.25;
  study.claims.push_back(claim);
  claim.id = "bits.split-norms";
  claim.statement = "(32 * 3 + 96 * 2 + 2 * 16)/128 = 2.5 bits with a 16-bit norm for each part";
  claim.source = "Revisiting RaBitQ and TurboQuant, arXiv 2604.19528";
  claim.target = 2.5;
  claim.exact = 2.5;
  claim.channels = {1};
  study.claims.push_back(claim);
  return study;
}

}  // namespace

void add_fact_studies(const ClaimOptions& options, std::vector<Study>& studies) {
  studies.push_back(entropy_of_the_index(options));
  studies.push_back(bits_of_split_channels(options));
}

}  // namespace orthant::validation

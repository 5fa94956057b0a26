#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/codebook/certificate.h"
#include "orthant/codebook/codebook.h"
#include "orthant/codebook/lloyd_max.h"

namespace orthant::codebook {

/// A codebook with its provenance, as a file holds it.
struct CodebookFile {
  Codebook codebook;
  std::vector<double> probabilities;  ///< P(cell k), k < 2^bits
  double residual = 0;                ///< max_k |c_k - E[X | cell k]| / standard deviation
  std::string solver;                 ///< "orthant 0.1.0"
  std::optional<Certificate> certificate;
};

CodebookFile to_file(LloydMaxResult result);

/// JSON, format "orthant-codebook-1" (docs/codebooks.md): each number of centroids, boundaries, distortion and entropy
/// twice, as a decimal of 17 digits and as a hex float; the same bytes for the same codebook everywhere.
std::string to_json(const CodebookFile& file);
/// Reads it back exactly. Throws InvalidInput, naming `where` and the field, when a field is missing or of the wrong
/// type, when the two forms of a number differ, and when the numbers do not make a Codebook.
CodebookFile parse_codebook(std::string_view json, const std::string& where);

/// Throws InvalidInput when the file cannot be read, is larger than 16 MiB, or as above.
CodebookFile read_codebook(const std::filesystem::path& path);
/// Written under a temporary name, then renamed.
void write_codebook(const std::filesystem::path& path, const CodebookFile& file);

}  // namespace orthant::codebook

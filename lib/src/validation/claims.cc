#include "orthant/validation/claims.h"

#include <algorithm>
#include <cmath>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/transform/make_rotation.h"
#include "orthant/validation/test_vectors.h"
#include "validation/studies.h"

namespace orthant::validation {

std::string_view to_string(Form form) {
  switch (form) {
    case Form::kPrinted:
      return "printed";
    case Form::kCorrected:
      return "corrected";
    case Form::kExact:
      return "exact";
    case Form::kMisprint:
      return "misprint";
  }
  return "exact";
}

SubjectMaker shipped_subjects() {
  return [](const std::string& method, std::size_t dim, std::uint64_t seed, std::uint64_t index) {
    quantizer::QuantizerContext context;
    context.seed = seed;
    context.index = index;
    return quantizer::make_quantizer(quantizer::parse_method(method), dim, context);
  };
}

RotationMaker shipped_rotations() {
  return [](const std::string& rotation, std::size_t dim, std::uint64_t seed, std::uint64_t index) {
    return transform::make_rotation(rotation, dim, seed, index);
  };
}

BookMaker shipped_books() {
  return [](std::int64_t dim, int bits) { return codebook::sphere_codebook(dim, bits); };
}

namespace {

void require_unit_keys(const Matrix<float>& keys, std::int64_t dim) {
  require_size("claim_registry", "columns of the keys", keys.cols(), static_cast<std::size_t>(dim));
  if (keys.rows() == 0) throw InvalidArgument("claim_registry: got no keys, expected at least one");
  for (std::size_t i = 0; i < keys.rows(); ++i) {
    const double square = dot(keys.row(i), keys.row(i));
    if (!(std::abs(square - 1) < 2e-5)) {
      throw_invalid_argument("claim_registry", "key " + std::to_string(i), "|x|^2 = " + std::to_string(square), "1");
    }
  }
}

}  // namespace

std::vector<Study> claim_registry(const ClaimOptions& options) {
  if (options.dim < 8) throw_invalid_argument("claim_registry", "dim", std::to_string(options.dim), "8 or more");
  for (const int b : options.bits) {
    if (b < 1 || b > 8) throw_invalid_argument("claim_registry", "bits", std::to_string(b), "1 to 8");
  }
  if (options.keys != nullptr) require_unit_keys(*options.keys, options.dim);
  // Now, not after an hour of trials with the claims before; a Haar rotation is never refused, and dear.
  if (options.rotation != "haar") {
    shipped_rotations()(options.rotation, static_cast<std::size_t>(options.dim), options.seed, 0);
  }
  std::vector<Study> studies;
  add_coordinate_studies(options, studies);
  add_mse_studies(options, studies);
  add_pair_studies(options, studies);
  add_lower_bound_studies(options, studies);
  add_structured_rotation_studies(options, studies);
  add_prod_studies(options, studies);
  add_qjl_studies(options, studies);
  add_rabitq_studies(options, studies);
  add_eden_studies(options, studies);
  add_crossover_studies(options, studies);
  add_fact_studies(options, studies);
  return studies;
}

std::vector<Study> select_claims(std::vector<Study> studies, const std::vector<std::string>& names) {
  if (names.empty()) return studies;
  std::vector<bool> found(names.size());
  const auto wanted = [&](const std::string& id) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool fits = id == names[i] || (id.starts_with(names[i]) && id[names[i].size()] == '.');
      if (fits) found[i] = any = true;
    }
    return any;
  };
  for (Study& study : studies) std::erase_if(study.claims, [&](const Claim& claim) { return !wanted(claim.id); });
  std::erase_if(studies, [](const Study& study) { return study.claims.empty(); });
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!found[i]) throw_invalid_argument("verify", "claim", '"' + names[i] + '"', "one of orthant verify --list");
  }
  return studies;
}

}  // namespace orthant::validation

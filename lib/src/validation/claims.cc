#include "orthant/validation/claims.h"

#include <algorithm>

#include "orthant/core/error.h"
#include "orthant/quantizer/make_quantizer.h"
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

std::vector<Study> claim_registry(const ClaimOptions& options) {
  if (options.dim < 8) throw_invalid_argument("claim_registry", "dim", std::to_string(options.dim), "8 or more");
  for (const int b : options.bits) {
    if (b < 1 || b > 8) throw_invalid_argument("claim_registry", "bits", std::to_string(b), "1 to 8");
  }
  std::vector<Study> studies;
  add_coordinate_studies(options, studies);
  add_mse_studies(options, studies);
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

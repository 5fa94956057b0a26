#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "orthant/validation/claims.h"

namespace orthant::validation {

/// Sources, as printed beside every claim.
inline constexpr const char* kTurboQuant = "TurboQuant, arXiv 2504.19874";
inline constexpr const char* kQjl = "QJL, arXiv 2406.03482";
inline constexpr const char* kRabitq = "RaBitQ, arXiv 2405.12497";
inline constexpr const char* kEden = "EDEN, ICML 2022; a note on TurboQuant, arXiv 2604.18555";

inline std::string case_id(const std::string& statement, int bits) { return statement + ".b" + std::to_string(bits); }

/// Appends a claim to its study: `common` (source, validity, exact value) with what is its own.
inline void add_claim(Study& study, Claim common, std::string id, std::string statement, Form form, Relation relation,
                      double target, double margin, std::vector<std::size_t> channels) {
  common.id = std::move(id);
  common.statement = std::move(statement);
  common.form = form;
  common.relation = relation;
  common.target = target;
  common.margin = margin;
  common.channels = std::move(channels);
  study.claims.push_back(std::move(common));
}

/// A channel whose law is known well enough to plan for: enclosed without a known range.
inline Channel asymptotic(std::string name, double plan_trials) {
  Channel c;
  c.name = std::move(name);
  c.plan.trials = plan_trials;
  return c;
}
inline Channel bounded(std::string name, double lower, double upper, double centre, montecarlo::Plan plan) {
  Channel c;
  c.name = std::move(name);
  c.kind = Channel::Kind::kBounded;
  c.lower = lower;
  c.upper = upper;
  c.centre = centre;
  c.plan = plan;
  return c;
}
inline Channel fact(std::string name, double value) {
  Channel c;
  c.name = std::move(name);
  c.kind = Channel::Kind::kFact;
  c.value = value;
  return c;
}

/// One file each; every one appends its studies.
void add_coordinate_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_mse_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_pair_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_lower_bound_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_structured_rotation_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_prod_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_qjl_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_rabitq_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_eden_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_crossover_studies(const ClaimOptions& options, std::vector<Study>& studies);
void add_fact_studies(const ClaimOptions& options, std::vector<Study>& studies);

}  // namespace orthant::validation

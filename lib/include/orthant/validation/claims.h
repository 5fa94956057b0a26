#pragma once

#include <cstdint>
#include <vector>

#include "orthant/validation/study.h"
#include "orthant/validation/subject.h"

namespace orthant::validation {

struct ClaimOptions {
  std::int64_t dim = 128;
  std::vector<int> bits = {1, 2, 3, 4};
  std::uint64_t seed = 1;
  std::string rotation = "haar";  ///< of the claims that are made for Haar rotations
  SubjectMaker subject = shipped_subjects();
};

/// Every claim that is checked, in the order in which it is printed. Building the list runs no trial, but computes the
/// exact values that the claims refer to (about a second at 8 bits).
/// Throws InvalidArgument unless dim >= 8 and 1 <= bits <= 8.
std::vector<Study> claim_registry(const ClaimOptions& options);

/// The studies that hold one of the claims named, with these claims only. A name is an id ("mse.theorem1.b2") or the
/// beginning of one up to a dot ("mse", "mse.theorem1"). Throws InvalidArgument for a name that fits no claim.
std::vector<Study> select_claims(std::vector<Study> studies, const std::vector<std::string>& names);

}  // namespace orthant::validation

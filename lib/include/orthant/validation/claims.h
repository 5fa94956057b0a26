#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/validation/study.h"
#include "orthant/validation/subject.h"

namespace orthant::validation {

struct ClaimOptions {
  std::int64_t dim = 128;
  std::vector<int> bits = {1, 2, 3, 4};
  std::uint64_t seed = 1;
  std::string rotation = "haar";  ///< of the claims that are made for Haar rotations
  /// Unit rows of dim columns that take the place of uniform vectors as keys: a user's tensor. Null: uniform vectors.
  std::shared_ptr<const Matrix<float>> keys;
  SubjectMaker subject = shipped_subjects();
  RotationMaker rotations = shipped_rotations();
  BookMaker book = shipped_books();
};

/// Every claim that is checked, in the order in which it is printed. Building the list runs no trial, but computes the
/// exact values that the claims refer to (about a second at 8 bits).
/// Throws InvalidArgument unless dim >= 8, 1 <= bits <= 8, rotation is one of make_rotation's for dim, and keys, if
/// any, are unit rows (within 1e-5) of dim columns.
std::vector<Study> claim_registry(const ClaimOptions& options);

/// The studies that hold one of the claims named, with these claims only. A name is an id ("mse.theorem1.b2") or the
/// beginning of one up to a dot ("mse", "mse.theorem1"). Throws InvalidArgument for a name that fits no claim.
std::vector<Study> select_claims(std::vector<Study> studies, const std::vector<std::string>& names);

}  // namespace orthant::validation

#pragma once

#include <span>
#include <string>
#include <vector>

namespace orthant::validation {

/// The coarsest common format that holds all values, and half its unit at each of them.
struct WrittenPrecision {
  std::string name;
  std::vector<double> half_units;
};

/// Tries decimals and significant digits from 2 on, bfloat16, half and single precision; double precision holds
/// everything. Values must be finite.
WrittenPrecision written_precision(std::span<const double> values);

}  // namespace orthant::validation

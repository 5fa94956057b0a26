#pragma once

#include <vector>

#include "orthant/report/table.h"
#include "orthant/validation/verify.h"

namespace orthant::apps {

/// Ids, statements and sources: `orthant verify --list`.
report::Table list_table(const std::vector<validation::Study>& studies);
/// What fits on a screen: verdict, target, measured value, interval.
report::Table short_table(const std::vector<validation::ClaimResult>& results);
/// Everything, for reports.
report::Table full_table(const std::vector<validation::ClaimResult>& results);

}  // namespace orthant::apps

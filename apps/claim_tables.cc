#include "claim_tables.h"

#include <fmt/format.h>

#include <cmath>

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using report::Value;
using validation::Claim;
using validation::ClaimResult;
using validation::Relation;
using validation::Study;

std::string target_text(const Claim& claim) {
  switch (claim.relation) {
    case Relation::kAtMost:
      return fmt::format("<= {:.4g}", claim.target);
    case Relation::kAtLeast:
      return fmt::format(">= {:.4g}", claim.target);
    case Relation::kEquals:
      return fmt::format("{:.4g} +- {:.2g}", claim.target, claim.margin);
  }
  return {};
}

/// A missing end of an interval is no number: null in reports.
Value finite(double x) { return std::isfinite(x) ? Value(x) : Value(); }

}  // namespace

Table list_table(const std::vector<Study>& studies) {
  Table table({{"id", "claim", Type::kText},
               {"form", "form", Type::kText},
               {"statement", "statement", Type::kText},
               {"source", "source", Type::kText},
               {"valid_for", "valid for", Type::kText}});
  for (const Study& study : studies) {
    for (const Claim& claim : study.claims) {
      table.add_row({claim.id, std::string(to_string(claim.form)), claim.statement, claim.source, claim.valid_for});
    }
  }
  return table;
}

Table short_table(const std::vector<ClaimResult>& results) {
  Table table({{"verdict", "verdict", Type::kText},
               {"id", "claim", Type::kText},
               {"form", "form", Type::kText},
               {"target", "target", Type::kText},
               {"exact", "exact", Type::kReal},
               {"measured", "measured", Type::kReal},
               {"interval", "interval", Type::kText},
               {"trials", "trials", Type::kInteger},
               {"statement", "statement", Type::kText}});
  for (const ClaimResult& r : results) {
    table.add_row({std::string(to_string(r.verdict)), r.claim.id, std::string(to_string(r.claim.form)),
                   target_text(r.claim), r.claim.exact ? Value(*r.claim.exact) : Value(), finite(r.measured),
                   fmt::format("[{:.5g}, {:.5g}]", r.interval.lower, r.interval.upper),
                   static_cast<std::int64_t>(r.trials), r.claim.statement});
  }
  return table;
}

Table full_table(const std::vector<ClaimResult>& results) {
  Table table({{"id", "claim", Type::kText},
               {"verdict", "verdict", Type::kText},
               {"form", "form", Type::kText},
               {"statement", "statement", Type::kText},
               {"source", "source", Type::kText},
               {"valid_for", "valid for", Type::kText},
               {"relation", "relation", Type::kText},
               {"target", "target", Type::kReal},
               {"margin", "margin", Type::kReal},
               {"exact", "exact", Type::kReal},
               {"measured", "measured", Type::kReal},
               {"lower", "lower", Type::kReal},
               {"upper", "upper", Type::kReal},
               {"interval", "interval", Type::kText},
               {"trials", "trials", Type::kInteger}});
  for (const ClaimResult& r : results) {
    const Claim& c = r.claim;
    const std::string relation = c.relation == Relation::kAtMost    ? "at most"
                                 : c.relation == Relation::kAtLeast ? "at least"
                                                                    : "equals";
    table.add_row({c.id, std::string(to_string(r.verdict)), std::string(to_string(c.form)), c.statement, c.source,
                   c.valid_for, relation, c.target, c.margin, c.exact ? Value(*c.exact) : Value(), finite(r.measured),
                   finite(r.interval.lower), finite(r.interval.upper), r.interval_kind,
                   static_cast<std::int64_t>(r.trials)});
  }
  return table;
}

}  // namespace orthant::apps

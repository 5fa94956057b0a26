#include "claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <utility>

#include "claim_tables.h"
#include "key_rows.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/report/html.h"
#include "orthant/validation/claims.h"
#include "orthant/validation/verify.h"
#include "trial_progress.h"
#include "workers.h"

namespace orthant::apps {
namespace {

using report::Value;
using validation::ClaimResult;
using validation::Study;
using validation::Verdict;

std::size_t count(const std::vector<ClaimResult>& results, Verdict verdict) {
  std::size_t n = 0;
  for (const ClaimResult& r : results) n += r.verdict == verdict ? 1U : 0U;
  return n;
}

bool lacks_interval(const ClaimResult& r) { return std::isinf(r.interval.lower) && std::isinf(r.interval.upper); }

/// The rows of the input become the keys, their width the dimension.
report::Input take_keys(const ClaimsCommand& command, validation::ClaimOptions& claims, Streams streams) {
  KeyRows keys = read_key_rows(command.input);
  const auto dim = static_cast<std::int64_t>(keys.rows.cols());
  if (command.dim && *command.dim != dim) {
    throw_invalid_argument("verify", "--dim", std::to_string(*command.dim),
                           fmt::format("{}, the columns of {}", dim, command.input));
  }
  if (dim < 8 || dim > 4096) throw_invalid_input(command.input, "columns", std::to_string(dim), "8 to 4096");
  if (keys.left_out > 0) streams.err << fmt::format("{}: {} rows of zeros left out\n", command.input, keys.left_out);
  claims.dim = dim;
  claims.keys = std::make_shared<const Matrix<float>>(std::move(keys.rows));
  return report::describe_input(keys.path);
}

}  // namespace

int run_claims_command(const ClaimsCommand& command, Streams streams, const Invocation& invocation) {
  validation::ClaimOptions claims;
  claims.dim = command.dim.value_or(claims.dim);
  claims.bits = command.bits;
  claims.seed = command.common.seed;
  claims.rotation = command.rotation;
  std::vector<report::Input> inputs;
  if (!command.input.empty()) inputs.push_back(take_keys(command, claims, streams));
  const std::vector<Study> studies = select_claims(validation::claim_registry(claims), command.claims);
  if (command.list) {
    streams.out << report::to_text(list_table(studies));
    return kDone;
  }

  const std::unique_ptr<montecarlo::Workers> workers = make_workers(command.common.threads);
  validation::VerifyOptions verify;
  verify.seed = command.common.seed;
  verify.family_error = command.error;
  if (command.trials > 0) verify.trials = command.trials;
  verify.resume = command.resume;
  verify.key = recorded_command(invocation);
  for (const report::Input& input : inputs) verify.key += ' ' + input.sha256;
  std::vector<ClaimResult> results;
  {
    TrialProgress progress(streams.err);
    if (streams.err_is_terminal) {
      verify.progress = [&](const validation::VerifyProgress& now) { progress.show(now); };
    }
    results = validation::verify(studies, verify, *workers);
  }
  const std::size_t violated = count(results, Verdict::kViolated);
  const std::size_t undecided = count(results, Verdict::kUndecided);
  if (workers->root()) {
    streams.out << report::to_text(short_table(results));
    std::string summary = fmt::format(
        "{} claims: {} hold, {} violated, {} undecided. All verdicts are right together with probability {:g} or "
        "more.\n",
        results.size(), count(results, Verdict::kHolds), violated, undecided, 1 - command.error);
    if (std::any_of(results.begin(), results.end(), lacks_interval)) {
      summary += "[-inf, inf]: no interval yet, an asymptotic one begins at 1000 trials.\n";
    }
    streams.out << '\n' << summary << '\n';
    if (!command.common.json.empty() || !command.html.empty()) {
      report::Provenance from = provenance("verify", command.common, invocation);
      from.inputs = inputs;
      from.settings.emplace_back("dim", claims.dim);
      from.settings.emplace_back("bits", command.bits_text);
      from.settings.emplace_back("rotation", command.rotation);
      from.settings.emplace_back("family_error", command.error);
      from.settings.emplace_back("trials", Value());
      if (command.trials > 0) from.settings.back().second = static_cast<std::int64_t>(command.trials);
      if (!command.common.json.empty()) write_file(command.common.json, report::to_json(from, full_table(results)));
      if (!command.html.empty()) {
        write_file(command.html, report::to_html("Published claims, tested", from,
                                                 {{"Verdicts", summary, {}, short_table(results)},
                                                  {"Sources and intervals", "", {}, full_table(results)}}));
      }
    }
  }
  if (violated > 0) return kViolated;
  return undecided > 0 ? kUndecided : kDone;
}

}  // namespace orthant::apps

#include "audit.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

namespace orthant::apps {

Run add_audit(CLI::App& app) {
  CLI::App* audit = app.add_subcommand("audit", "Judge the tables and outputs of any implementation");
  audit->require_subcommand(1);
  audit->footer(
      "Exit code: 0 nothing wrong found, 1 a fault found, 2 wrong usage, 3 a file does not hold what it should.\n\n"
      "Example:  orthant audit codebook table.csv --dim 128\n"
      "          orthant audit decoded x.npy x_hat.npy --bits 4");
  std::vector<std::pair<CLI::App*, Run>> parts;
  const auto add = [&](const char* name, Run run) { parts.emplace_back(audit->get_subcommand(name), std::move(run)); };
  add("codebook", add_audit_codebook(*audit));
  add("rotation", add_audit_rotation(*audit));
  add("decoded", add_audit_decoded(*audit));
  add("estimator", add_audit_estimator(*audit));
  return [parts](Streams streams, const Invocation& invocation) {
    for (const auto& [part, run] : parts) {
      if (part->parsed()) return run(streams, invocation);
    }
    return static_cast<int>(kUsage);
  };
}

}  // namespace orthant::apps

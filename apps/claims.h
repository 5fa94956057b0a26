#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "common_options.h"
#include "orthant/montecarlo/workers.h"

namespace orthant::apps {

struct ClaimsCommand {
  std::vector<std::string> claims;
  bool list = false;
  std::optional<std::int64_t> dim;  ///< 128, or the input's, when left out
  std::vector<int> bits;
  std::string bits_text;
  std::string rotation = "haar";
  std::uint64_t trials = 0;
  double error = 1e-3;
  std::string resume;
  std::string html;
  std::string input;
  CommonOptions common;
};

/// `orthant verify` on claims: the table, and what files were asked for.
int run_claims_command(const ClaimsCommand& command, Streams streams, const Invocation& invocation);

}  // namespace orthant::apps

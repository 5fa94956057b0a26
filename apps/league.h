#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "common_options.h"
#include "orthant/montecarlo/workers.h"

namespace orthant::apps {

struct LeagueCommand {
  std::int64_t dim = 128;
  std::vector<int> bits;
  std::size_t seeds = 10;
  std::size_t keys = 2000;
  std::size_t queries = 200;
  std::string svg;  ///< file names begin with this: "league" makes league-distortion.svg, league-variance.svg
  std::string html;
  std::string input;  ///< as of read_key_rows; empty: uniform vectors
  CommonOptions common;
};

/// `orthant verify league`: the table, and what files were asked for.
int run_league_command(const LeagueCommand& command, Streams streams, const Invocation& invocation,
                       montecarlo::Workers& workers);

}  // namespace orthant::apps

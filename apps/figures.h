#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "common_options.h"
#include "orthant/montecarlo/workers.h"

namespace orthant::apps {

struct FiguresCommand {
  std::int64_t dim = 1536;
  std::vector<int> bits = {1, 2, 3, 4, 5};
  std::size_t seeds = 4;
  std::size_t keys = 256;
  CommonOptions common;
};

/// `orthant verify figures`: the table, and the report that notebooks/ draws from.
int run_figures_command(const FiguresCommand& command, Streams streams, const Invocation& invocation,
                        montecarlo::Workers& workers);

}  // namespace orthant::apps

#include "figures.h"

#include <ostream>

#include "orthant/core/atomic_file.h"
#include "orthant/validation/figures.h"
#include "progress.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using validation::Figures;

Table table_of(const Figures& figures) {
  Table table({{"method", "method", Type::kText},
               {"bits", "b", Type::kInteger},
               {"distortion", "distortion", Type::kReal},
               {"distortion_upper", "Theorem 1", Type::kReal},
               {"distortion_lower", "4^-b", Type::kReal},
               {"distortion_converse", "converse", Type::kReal},
               {"product_error", "product error^2", Type::kReal},
               {"product_upper", "Theorem 2", Type::kReal},
               {"product_lower", "4^-b/d", Type::kReal}});
  for (const validation::FigureRow& r : figures.rows) {
    table.add_row({r.method, std::int64_t{r.bits}, r.distortion, r.distortion_upper, r.distortion_lower,
                   r.distortion_converse, r.product_error, r.product_upper, r.product_lower});
  }
  return table;
}

Table errors_of(const Figures& figures) {
  Table table({{"method", "method", Type::kText},
               {"bits", "b", Type::kInteger},
               {"cosine", "cosine", Type::kReal},
               {"mean", "mean", Type::kReal},
               {"variance", "variance", Type::kReal}});
  for (const validation::ErrorDistribution& e : figures.errors) {
    table.add_row({e.method, std::int64_t{e.bits}, e.cosine, e.mean, e.variance});
  }
  return table;
}

/// A row a bin.
Table histograms_of(const Figures& figures) {
  Table table({{"method", "", Type::kText},
               {"bits", "", Type::kInteger},
               {"cosine", "", Type::kReal},
               {"bin_low", "", Type::kReal},
               {"bin_high", "", Type::kReal},
               {"count", "", Type::kInteger}});
  for (const validation::ErrorDistribution& e : figures.errors) {
    const double step = 2 * e.range / static_cast<double>(e.counts.size());
    for (std::size_t i = 0; i < e.counts.size(); ++i) {
      const double low = -e.range + static_cast<double>(i) * step;
      table.add_row(
          {e.method, std::int64_t{e.bits}, e.cosine, low, low + step, static_cast<std::int64_t>(e.counts[i])});
    }
  }
  return table;
}

}  // namespace

int run_figures_command(const FiguresCommand& command, Streams streams, const Invocation& invocation,
                        montecarlo::Workers& workers) {
  validation::FigureOptions options;
  options.dim = static_cast<std::size_t>(command.dim);
  options.bits = command.bits;
  options.seed = command.common.seed;
  options.seeds = command.seeds;
  options.keys = command.keys;
  Figures figures;
  {
    Progress progress(streams, "figures");
    figures = run_figures(options, workers, [&](std::size_t done, std::size_t all) { progress.show(done, all); });
  }
  if (!workers.root()) return kDone;
  const Table table = table_of(figures);
  streams.out << report::to_text(table) << '\n' << report::to_text(errors_of(figures));
  if (command.common.json.empty()) return kDone;
  report::Provenance from = provenance("figures", command.common, invocation);
  from.settings = {{"dim", command.dim},
                   {"seeds", static_cast<std::int64_t>(command.seeds)},
                   {"keys", static_cast<std::int64_t>(command.keys)}};
  write_file(command.common.json,
             report::to_json(from, table, {{"errors", errors_of(figures)}, {"histograms", histograms_of(figures)}}));
  return kDone;
}

}  // namespace orthant::apps

#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/bounds/converse.h"
#include "orthant/bounds/mse_moments.h"
#include "orthant/bounds/rabitq.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/parallel_for.h"
#include "orthant/report/report.h"

namespace orthant::apps {
namespace {

using report::Column;
using report::Table;
using report::Type;
using report::Value;

struct Options {
  std::string dims = "64,128";
  std::string bits = "1-8";
  CommonOptions common;
};

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"dim", "d", Type::kInteger},
      {"bits", "b", Type::kInteger},
      {"rate_distortion", "R(D)", Type::kReal},
      {"cap_converse", "cap", Type::kReal},
      {"printed_lower_bound", "4^-b", Type::kReal},
      {"printed_lower_bound_status", "valid", Type::kText},
      {"optimal_distortion", "optimum", Type::kReal},
      {"panter_dite", "Panter-Dite", Type::kReal},
      {"theorem1", "Thm 1", Type::kReal},
      {"theorem1_misprint", "misprint", Type::kReal},
      {"entropy_bits", "entropy", Type::kReal},
      {"huffman_bits", "Huffman", Type::kReal},
      {"mse_perpendicular_times_d", "mse ⊥·d", Type::kReal},
      {"prod_gaussian_times_d", "prod G·d", Type::kReal},
      {"prod_orthogonal_times_d", "prod O·d", Type::kReal},
      {"theorem2_times_d", "Thm 2·d", Type::kReal},
      {"unbiased_floor_times_d", "floor·d", Type::kReal},
  };
  return all;
}

const char* validity(std::int64_t d, int bits) {
  switch (bounds::printed_lower_bound_status(d, bits)) {
    case bounds::LowerBoundStatus::kProved:
      return "proved";
    case bounds::LowerBoundStatus::kFalse:
      return "false";
    case bounds::LowerBoundStatus::kOpen:
      return "open";
  }
  return "open";
}

std::vector<Value> row(std::int64_t d, int bits) {
  const bounds::CoordinateLaw law = bounds::CoordinateLaw::sphere(d);
  const std::vector<double> levels = bounds::optimal_levels(law, bits);
  const std::vector<double> p = bounds::cell_probabilities(law, levels);
  const bounds::MseMoments own = bounds::mse_moments(d, levels);
  const bounds::MseMoments before =
      bits == 1 ? bounds::empty_stage() : bounds::mse_moments(d, bounds::optimal_levels(law, bits - 1));
  const double n = static_cast<double>(d);
  const double cap = bounds::cap_converse(d, bits);
  return {d,
          std::int64_t{bits},
          bounds::rate_distortion(d, bits).distortion,
          cap,
          bounds::printed_lower_bound(bits),
          validity(d, bits),
          own.distortion,
          bounds::panter_dite(d, bits),
          bounds::theorem1(bits),
          bounds::theorem1_misprint_root(bits),
          bounds::entropy_bits(p),
          bounds::huffman_bits(p),
          n * own.perpendicular_variance,
          n * bounds::prod_error_gaussian(d, d, before).perpendicular,
          n * bounds::prod_error_orthogonal(d, before, true).perpendicular,
          bounds::theorem2_times_d(bits),
          bounds::unbiased_floor(cap)};
}

int run(const Options& options, Streams streams, const Invocation& invocation) {
  const std::vector<std::int64_t> dims = number_list("--dim", options.dims, 2, 1000000);
  const std::vector<std::int64_t> bits = number_list("--bits", options.bits, 1, 8);
  Table table(columns());
  std::vector<std::vector<Value>> rows(dims.size() * bits.size());
  parallel_for(rows.size(), options.common.threads,
               [&](std::size_t i) { rows[i] = row(dims[i / bits.size()], static_cast<int>(bits[i % bits.size()])); });
  for (std::vector<Value>& cells : rows) table.add_row(std::move(cells));
  streams.out << report::to_text(table);
  if (!options.common.json.empty()) {
    report::Provenance from = provenance("bounds", options.common, invocation);
    from.settings = {{"dim", options.dims}, {"bits", options.bits}};
    write_file(options.common.json, report::to_json(from, table));
  }
  return kDone;
}

}  // namespace

Run add_bounds(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CommandLine command(app, "bounds", "Print every bound and exact law of the coded unit vector");
  command.add("--dim", options->dims, "Dimensions d, 2 or more").type("LIST").show_default();
  command.add("--bits", options->bits, "Bits a coordinate b, 1 to 8").type("LIST").show_default();
  add_common_options(command, options->common);
  command.footer(
      "Mean squared errors of unit vectors, and variances of inner products times d. R(D) and cap bound every code "
      "from\n"
      "below; `valid` says where the printed bound 4^-b is proved, false or open. `optimum` is the best scalar "
      "quantizer\n"
      "after a Haar rotation, Thm 1 its published bound. prod G and prod O: TurboQuant_prod with a Gaussian or an\n"
      "orthogonal sketch, b bits in all, query orthogonal to the key; floor: no unbiased estimate can do better.\n\n"
      "Example:  orthant bounds --dim 64,128 --bits 1-8");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps

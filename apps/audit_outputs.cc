#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "audit.h"
#include "common_options.h"
#include "number_range.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/kv/npy.h"
#include "orthant/validation/audit.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using report::Value;
using validation::AuditResult;

struct Options {
  std::vector<std::string> files;
  int bits = 0;
  std::size_t dim = 0;
  CommonOptions common;
};

struct NpyMatrix {
  kv::NpyArray<float> array;
  MatrixView<const float> view() const { return {array.values.data(), array.shape[0], array.shape[1]}; }
};

NpyMatrix read_matrix(const std::string& path) {
  NpyMatrix matrix{kv::read_npy<float>(path)};
  const std::size_t axes = matrix.array.shape.size();
  if (axes != 2) throw_invalid_input(path, "axes", std::to_string(axes), "2: one vector a row");
  return matrix;
}

Table measurements_of(const AuditResult& result) {
  Table table({{"measured", "measured", Type::kText},
               {"value", "value", Type::kReal, 6},
               {"half_width", "+-", Type::kReal, 2},
               {"expected", "expected", Type::kReal, 6},
               {"note", "note", Type::kText}});
  for (const validation::Measurement& m : result.measurements) {
    table.add_row({m.name, m.value, m.half_width > 0 ? Value(m.half_width) : Value(),
                   m.expected ? Value(*m.expected) : Value(), m.note});
  }
  return table;
}

Table findings_of(const AuditResult& result) {
  Table table({{"kind", "", Type::kText}, {"id", "", Type::kText}, {"finding", "", Type::kText}});
  for (const validation::Finding& f : result.findings) {
    table.add_row({std::string(f.fault ? "fault" : "remark"), f.id, f.text});
  }
  return table;
}

int print(const AuditResult& result, const Options& options, const char* kind, Streams streams,
          const Invocation& invocation) {
  const Table findings = findings_of(result);
  streams.out << report::to_text(measurements_of(result)) << '\n';
  for (const validation::Finding& f : result.findings) {
    streams.out << fmt::format("{}  {}: {}\n", f.fault ? "FAULT " : "remark", f.id, f.text);
  }
  const bool inferred = options.bits == 0;
  streams.out << fmt::format("\n{} at {} bits a coordinate{}\n", result.faulty() ? "faulty" : "nothing wrong found",
                             result.bits, inferred ? " (inferred; say --bits to be sure)" : "");
  if (!options.common.json.empty()) {
    report::Provenance from = provenance(kind, options.common, invocation);
    from.settings = {{"bits", std::int64_t{result.bits}},
                     {"bits_inferred", inferred},
                     {"dim", static_cast<std::int64_t>(options.dim)},
                     {"faulty", result.faulty()}};
    for (const std::string& file : options.files) from.inputs.push_back(report::describe_input(file));
    write_file(options.common.json, report::to_json(from, measurements_of(result), {{"findings", findings}}));
  }
  return result.faulty() ? kViolated : kDone;
}

void add_shared_options(CLI::App& command, Options& options) {
  command.add_option("--bits", options.bits, "Bits a coordinate, the sketch's included; inferred when left out")
      ->check(number_within(1, 8));
  add_common_options(command, options.common);
}

}  // namespace

Run add_audit_decoded(CLI::App& audit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = audit.add_subcommand("decoded", "Judge reconstructions: vectors and what they decoded to");
  command->add_option("files", options->files, "X.npy XHAT.npy: two arrays of one shape, a vector a row")
      ->required()
      ->expected(2)
      ->type_name("FILE FILE");
  command->add_option("--dim", options->dim, "Coordinates normalised and coded together; the whole row when left out");
  add_shared_options(*command, *options);
  command->footer("Example:  orthant audit decoded x.npy x_hat.npy --bits 4 --dim 128");
  return [options](Streams streams, const Invocation& invocation) {
    const NpyMatrix x = read_matrix(options->files[0]);
    const NpyMatrix x_hat = read_matrix(options->files[1]);
    validation::DecodedOptions audit_options;
    if (options->bits > 0) audit_options.bits = options->bits;
    audit_options.dim = options->dim;
    audit_options.name = options->files[1];
    if (options->dim == 0 && x.view().cols() < 8) {
      throw_invalid_input(options->files[0], "columns", std::to_string(x.view().cols()), "8 or more");
    }
    return print(audit_decoded(x.view(), x_hat.view(), audit_options), *options, "audit-decoded", streams, invocation);
  };
}

Run add_audit_estimator(CLI::App& audit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = audit.add_subcommand("estimator", "Judge estimated inner products: queries, keys and scores");
  command
      ->add_option("files", options->files,
                   "Q.npy K.npy SCORES.npy: queries (m, d), keys (n, d), their estimated products (m, n)")
      ->required()
      ->expected(3)
      ->type_name("FILE FILE FILE");
  add_shared_options(*command, *options);
  command->footer("Example:  orthant audit estimator q.npy k.npy scores.npy --bits 3");
  return [options](Streams streams, const Invocation& invocation) {
    const NpyMatrix q = read_matrix(options->files[0]);
    const NpyMatrix k = read_matrix(options->files[1]);
    const NpyMatrix scores = read_matrix(options->files[2]);
    validation::EstimatorOptions audit_options;
    audit_options.name = options->files[2];
    if (options->bits > 0) audit_options.bits = options->bits;
    return print(audit_estimator(q.view(), k.view(), scores.view(), audit_options), *options, "audit-estimator",
                 streams, invocation);
  };
}

}  // namespace orthant::apps

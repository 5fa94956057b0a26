#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "audit.h"
#include "common_options.h"
#include "number_file.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/report/report.h"
#include "orthant/validation/rotation_audit.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using validation::RotationAudit;

struct Options {
  std::vector<std::string> files;
  double tolerance = 0;  ///< 0: derived from the entries
  CommonOptions common;
};

Matrix<double> matrix(const std::string& path) {
  const NumberFile file = read_numbers(path);
  const std::size_t cols = file.rows.front().size();
  Matrix<double> m(file.rows.size(), cols);
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    if (file.rows[i].size() != cols) {
      throw_invalid_input(path, fmt::format("row {}", i), fmt::format("{} numbers", file.rows[i].size()),
                          fmt::format("{} as in the first", cols));
    }
    std::copy(file.rows[i].begin(), file.rows[i].end(), m.row(i).begin());
  }
  return m;
}

std::string text_of(const std::string& name, const RotationAudit& audit) {
  std::string text = fmt::format("{}: {} x {}\n", name, audit.rows, audit.cols);
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<24}{}\n", what, value);
  };
  if (!audit.inputs.empty()) {
    line("max |R^T R - I|", fmt::format("{:.3e}", audit.orthogonality_defect));
    line("singular values",
         fmt::format("{:.9g} to {:.9g}", audit.smallest_singular_value, audit.largest_singular_value));
    line("determinant", fmt::format("{:.9g}", audit.determinant));
    line("trace", fmt::format("{:.4g}  (Haar: about N(0, 1))", audit.trace));
    line("positive signs", fmt::format("{} of {}, probability {:.3g} under Haar", audit.positive_signs, audit.rows - 1,
                                       audit.sign_probability));
    text +=
        fmt::format("  2-bit distortion of structured inputs, {:.6g} for a uniform point\n", audit.expected_distortion);
    text += fmt::format("    {:<24}{:>12}{:>10}{:>14}\n", "input", "distortion", "z", "largest |y_j|");
    for (const auto& input : audit.inputs) {
      text +=
          fmt::format("    {:<24}{:>12.6g}{:>10.2f}{:>14.4g}\n", input.name, input.distortion, input.z, input.largest);
    }
  }
  for (const auto& finding : audit.findings) {
    line("FAULT", fmt::format("{}: {}", validation::to_string(finding.fault), finding.text));
  }
  line("verdict", audit.correct()
                      ? "no fault found"
                      : fmt::format("{} fault{}", audit.findings.size(), audit.findings.size() == 1 ? "" : "s"));
  return text;
}

/// Reports hold no infinity: what overflowed does not apply.
report::Value finite(double x) { return std::isfinite(x) ? report::Value(x) : report::Value(); }

int run(const Options& options, Streams streams, const Invocation& invocation) {
  std::vector<std::pair<std::string, Matrix<double>>> matrices;
  for (const std::string& path : options.files) matrices.emplace_back(path, matrix(path));
  Table rows({{"name", "name", Type::kText},
              {"rows", "rows", Type::kInteger},
              {"cols", "cols", Type::kInteger},
              {"orthogonality_defect", "defect", Type::kReal},
              {"smallest_singular_value", "least singular value", Type::kReal},
              {"largest_singular_value", "largest", Type::kReal},
              {"determinant", "determinant", Type::kReal},
              {"trace", "trace", Type::kReal},
              {"fault", "fault", Type::kText},
              {"text", "text", Type::kText}});
  bool faulty = false;
  const std::optional<double> tolerance = options.tolerance > 0 ? std::optional(options.tolerance) : std::nullopt;
  for (const auto& [name, m] : matrices) {
    const RotationAudit audit =
        validation::audit_rotation(m.view(), {.tolerance = tolerance, .seed = options.common.seed});
    streams.out << text_of(name, audit);
    faulty = faulty || !audit.correct();
    const auto add = [&](report::Value fault, report::Value text) {
      rows.add_row({name, static_cast<std::int64_t>(audit.rows), static_cast<std::int64_t>(audit.cols),
                    finite(audit.orthogonality_defect), finite(audit.smallest_singular_value),
                    finite(audit.largest_singular_value), finite(audit.determinant), finite(audit.trace),
                    std::move(fault), std::move(text)});
    };
    if (audit.correct()) add(report::Value(), report::Value());
    for (const auto& finding : audit.findings) add(validation::to_string(finding.fault), finding.text);
  }
  if (!options.common.json.empty()) {
    write_file(options.common.json, report::to_json(provenance("audit rotation", options.common, invocation), rows));
  }
  return faulty ? kViolated : kDone;
}

}  // namespace

Run add_audit_rotation(CLI::App& audit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = audit.add_subcommand("rotation", "Name what is wrong with a rotation matrix");
  command->add_option("files", options->files, "matrix R of y = R x: .npy with two axes, or lines of numbers")
      ->required();
  command
      ->add_option("--tolerance", options->tolerance,
                   "largest max |R^T R - I| accepted; default: 1e-5, more for entries in half precision or bfloat16")
      ->check(CLI::PositiveNumber);
  add_common_options(*command, options->common);
  command->footer(
      "Exit code 0: no fault found; 1: faults; 3: not a matrix.\n"
      "Example:  orthant audit rotation rotation.npy");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps

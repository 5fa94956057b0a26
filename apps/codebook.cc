#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "codebook_collection.h"
#include "command.h"
#include "common_options.h"
#include "orthant/codebook/certificate.h"
#include "orthant/codebook/codebook_export.h"
#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/kv/npy.h"

namespace orthant::apps {
namespace {

using codebook::Codebook;
using codebook::CodebookFile;

struct Options {
  std::int64_t dim = 0;
  int bits = 4;
  std::string density = "sphere";
  std::string format = "table";
  std::string out;
  std::vector<std::string> check;
  std::string collection;
  CommonOptions common;
};

CodebookFile solve(const Options& options) {
  if (options.density == "gaussian") {
    if (options.dim != 0) throw InvalidArgument("codebook: --dim has no meaning for the Gaussian (variance 1)");
    return codebook::optimal_codebook(0, options.bits);
  }
  if (options.dim == 0) throw InvalidArgument("codebook: --dim is missing, expected the d of the sphere S^(d-1)");
  return codebook::optimal_codebook(options.dim, options.bits);
}

std::string table(const CodebookFile& file) {
  const Codebook& book = file.codebook;
  const double normalised = book.distortion() * (book.dim() > 0 ? static_cast<double>(book.dim()) : 1.0);
  std::string text = fmt::format("density {}", book.density());
  if (book.dim() > 0) text += fmt::format(", d = {}", book.dim());
  text += fmt::format(", {} bits: {} levels\n\n", book.bits(), book.size());
  text += fmt::format("{:>5}  {:>24}  {:>24}  {:>12}\n", "level", "centroid", "upper boundary", "probability");
  for (std::size_t k = 0; k < book.size(); ++k) {
    const bool last = k + 1 == book.size();
    text += fmt::format("{:>5}  {:>24.17g}  {:>24}  {:>12.8f}\n", k, book.centroids()[k],
                        last ? std::string("-") : fmt::format("{:.17g}", book.boundaries()[k]), file.probabilities[k]);
  }
  text += fmt::format("\ndistortion of a coordinate   {:.15g}\n", book.distortion());
  text += fmt::format("relative distortion D        {:.15g}\n", normalised);
  text += fmt::format("4^b D                        {:.10g}\n", std::ldexp(normalised, 2 * book.bits()));
  text += fmt::format("entropy of the code          {:.10g} bits\n", book.entropy());
  text += fmt::format("centroid residual            {:.1e} standard deviations\n", file.residual);
  if (file.certificate) {
    text += fmt::format("proof                        each number is the double nearest to the optimum: {}\n",
                        file.certificate->uniqueness);
  } else {
    text += "proof                        none: this build has no ball arithmetic (Arb)\n";
  }
  return text;
}

int run(const Options& options, Streams streams) {
  if (!options.check.empty()) return check_codebooks(options.check, options.common.threads, streams);
  if (!options.collection.empty()) return write_collection(options.collection, options.common.threads, streams);
  if (options.format == "npy" && options.out.empty()) {
    throw InvalidArgument("codebook: --format npy is binary, expected --out FILE with it");
  }
  const CodebookFile file = solve(options);
  if (!options.common.json.empty()) codebook::write_codebook(options.common.json, file);
  if (options.format == "npy") {
    const std::size_t shape[] = {file.codebook.size()};
    kv::write_npy<double>(options.out, shape, file.codebook.centroids());
    return kDone;
  }
  std::string text;
  if (options.format == "json") text = codebook::to_json(file);
  if (options.format == "csv") text = codebook::to_csv(file.codebook);
  if (options.format == "c") text = codebook::to_c_header(file.codebook);
  if (options.format == "cuda") text = codebook::to_cuda_header(file.codebook);
  if (options.format == "rust") text = codebook::to_rust(file.codebook);
  if (options.format == "table") text = table(file);
  if (options.out.empty()) {
    streams.out << text;
  } else {
    write_file(options.out, text);
  }
  return kDone;
}

}  // namespace

Run add_codebook(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("codebook", "Optimal scalar codebooks, to the last digit");
  command->add_option("--dim", options->dim, "d of the sphere S^(d-1) the vectors lie on after rotation")
      ->check(CLI::Range(std::int64_t{1}, density::SphereCoordinate::kMaxDim));
  command->add_option("--bits", options->bits, "bits per coordinate: 2^bits levels")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
  command->add_option("--density", options->density, "law of a coordinate")
      ->check(CLI::IsMember({"sphere", "gaussian"}))
      ->capture_default_str();
  command->add_option("--format", options->format, "what to print or write")
      ->check(CLI::IsMember({"table", "json", "csv", "npy", "c", "cuda", "rust"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "write there instead of standard output");
  command->add_option("--check", options->check, "prove these codebook files, or all of a folder, again");
  command->add_option("--collection", options->collection, "write the published collection into this folder");
  add_common_options(*command, options->common);
  command->footer(
      "Example:  orthant codebook --dim 128 --bits 4\n"
      "          orthant codebook --dim 128 --bits 4 --format c --out codebook_d128_b4.h\n"
      "          orthant codebook --check codebooks/");
  return [options](Streams streams, const Invocation&) { return run(*options, streams); };
}

}  // namespace orthant::apps

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "codebook_collection.h"
#include "codebook_law.h"
#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/codebook/certificate.h"
#include "orthant/codebook/codebook_export.h"
#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/huffman.h"
#include "orthant/codebook/integer_grid.h"
#include "orthant/codebook/uniform_quantizer.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/printable.h"
#include "orthant/kv/npy.h"

namespace orthant::apps {
namespace {

using codebook::Codebook;
using codebook::CodebookFile;

struct Options {
  CodebookLaw law;
  int bits = 4;
  std::string grid;
  std::string format = "table";
  std::string out;
  std::vector<std::string> check;
  std::string collection;
  CommonOptions common;
};

std::string table(const CodebookFile& file) {
  const Codebook& book = file.codebook;
  const double normalised = book.distortion() * (book.dim() > 0 ? static_cast<double>(book.dim()) : 1.0);
  std::string text = fmt::format("density {}", printable(book.density()));
  if (book.dim() > 0) text += fmt::format(", d = {}", book.dim());
  text += fmt::format(", {} bits: {} levels\n\n", book.bits(), book.size());
  text += fmt::format("{:>5}  {:>24}  {:>24}  {:>12}\n", "level", "centroid", "upper boundary", "probability");
  for (std::size_t k = 0; k < book.size(); ++k) {
    const bool last = k + 1 == book.size();
    text += fmt::format("{:>5}  {:>24.17g}  {:>24}  {:>12.8f}\n", k, book.centroids()[k],
                        last ? std::string("-") : fmt::format("{:.17g}", book.boundaries()[k]), file.probabilities[k]);
  }
  text += fmt::format("\ndistortion of a coordinate   {:.15g}\n", book.distortion());
  if (book.dim() > 0) text += fmt::format("relative distortion D        {:.15g}\n", normalised);
  text += fmt::format("4^b D                        {:.10g}\n", std::ldexp(normalised, 2 * book.bits()));
  text += fmt::format("entropy of the code          {:.10g} bits\n", book.entropy());
  text += fmt::format("centroid residual            {:.1e} standard deviations\n", file.residual);
  text += fmt::format("Huffman code                 {:.10g} bits\n", codebook::huffman_rate(file.probabilities));
  if (file.certificate) {
    text += fmt::format("proof                        each number is the double nearest to the optimum: {}\n",
                        file.certificate->uniqueness);
  } else {
    text += "proof                        none\n";
  }
  return text;
}

/// Quantizers of equal steps beside the optimum.
std::string uniform_beside(const CodebookLaw& law, const CodebookFile& file) {
  std::string text;
  const Codebook& book = file.codebook;
  with_density(law, [&](density::DensityView density) {
    if (book.bits() == 0 || book.dim() == 1 || !density.symmetric()) return;
    const codebook::UniformQuantizer uniform = codebook::optimal_uniform(density, book.bits());
    const codebook::UniformQuantizer coded = codebook::entropy_coded_uniform(density, book.bits());
    const double scale = book.dim() > 0 ? static_cast<double>(book.dim()) : 1.0;
    text += fmt::format(
        "\nbest uniform quantizer       step {:.12g}, D {:.9g} ({:.6g} times the optimum), entropy {:.6g} bits\n",
        uniform.step, scale * uniform.distortion, uniform.distortion / book.distortion(), uniform.entropy);
    text += fmt::format(
        "uniform, entropy-coded       step {:.12g}, D {:.9g} ({:.6g} times the optimum) at {} bits of entropy, "
        "Huffman {:.6g}\n",
        coded.step, scale * coded.distortion, coded.distortion / book.distortion(), book.bits(),
        codebook::huffman_rate(coded.probabilities));
  });
  return text;
}

/// The best integer levels and their scale.
std::string integer_grid(const Options& options, const CodebookFile& file) {
  const codebook::IntegerRange range = options.grid == "int8" ? codebook::kInt8 : codebook::kInt7;
  std::string text;
  const bool is_density = with_density(options.law, [&](density::DensityView density) {
    if (file.codebook.dim() == 1)
      throw InvalidArgument("codebook --grid: d = 1 needs no grid, its levels are -1 and 1");
    const std::vector<double> scales = codebook::integer_scales(file.codebook, range);
    const codebook::IntegerCodebook grid = codebook::optimal_integer_codebook(density, file.codebook, range, scales);
    text = fmt::format("{} grid, integers {} to {}, {} bits: centroid k is scale * level k\n\nlevels  ", options.grid,
                       range.lowest, range.highest, file.codebook.bits());
    for (const int level : grid.levels) text += fmt::format(" {}", level);
    text += fmt::format("\nscale    {:.17g}\n", grid.scale);
    text += fmt::format("excess   {:.6g} of the optimal distortion\n", grid.excess);
    text += fmt::format(
        "proof    no choice of integers at any of {} scales from {:.6g} to {:.6g} is better (exact dynamic\n"
        "         programme; the best of them, at scale {:.9g}, has excess {:.6g})\n",
        grid.scales, scales.back(), scales.front(), grid.scale_on_set,
        grid.least_on_set / file.codebook.distortion() - 1);
  });
  if (!is_density) throw InvalidArgument("codebook --grid: expected a density, not samples");
  return text;
}

/// Refuses every option beside `mode` that this mode would ignore.
void require_alone(const CommandLine& command, const std::string& mode) {
  for (const std::string& name : command.given()) {
    if (name == mode || name == "--threads") continue;
    throw_invalid_argument("codebook " + mode, "option", name, "none but --threads beside it");
  }
}

int run(const CommandLine& command, const Options& options, Streams streams) {
  if (!options.check.empty()) {
    require_alone(command, "--check");
    return check_codebooks(options.check, options.common.threads, streams);
  }
  if (!options.collection.empty()) {
    require_alone(command, "--collection");
    return write_collection(options.collection, options.common.threads, streams);
  }
  if (options.format == "npy" && options.out.empty()) {
    throw InvalidArgument("codebook: --format npy is binary, expected --out FILE with it");
  }
  if (!options.grid.empty() && (options.format != "table" || !options.common.json.empty())) {
    throw InvalidArgument("codebook: --grid is printed as a table, expected no --format or --json with it");
  }
  const CodebookFile file = solve_codebook(options.law, options.bits);
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
  if (options.format == "table")
    text = options.grid.empty() ? table(file) + uniform_beside(options.law, file) : integer_grid(options, file);
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
  CommandLine command(app, "codebook", "Optimal scalar codebooks, to the last digit");
  command.add("--dim", options->law.dim, "d of the sphere S^(d-1) the vectors lie on after rotation")
      .type("N")
      .within(1, density::SphereCoordinate::kMaxDim);
  command.add("--bits", options->bits, "bits per coordinate: 2^bits levels").type("N").within(0, 10).show_default();
  command
      .add("--density", options->law.density,
           "law of a coordinate: sphere, gaussian, gaussian:MEAN,SIGMA[,LOW,HIGH], laplace, samples:FILE (a .npy, or "
           "text "
           "with a value or value,weight on each line)")
      .type("LAW")
      .show_default();
  command.add("--format", options->format, "what to print or write")
      .type("NAME")
      .one_of({"table", "json", "csv", "npy", "c", "cuda", "rust"})
      .show_default();
  command.add("--out", options->out, "write there instead of standard output").type("FILE");
  command
      .add("--grid", options->grid,
           "best levels on an integer grid instead: int8 or int7, with their scale; a table, takes no --format or "
           "--json")
      .type("NAME")
      .one_of({"int8", "int7"});
  command.add("--check", options->check, "prove these codebook files, or all of a folder, again").type("PATH");
  command.add("--collection", options->collection, "write the published collection into this folder").type("FOLDER");
  add_common_options(command, options->common);
  command.footer(
      "Example:  orthant codebook --dim 128 --bits 4\n"
      "          orthant codebook --dim 128 --bits 4 --format c --out codebook_d128_b4.h\n"
      "          orthant codebook --check codebooks/");
  return [command, options](Streams streams, const Invocation&) { return run(command, *options, streams); };
}

}  // namespace orthant::apps

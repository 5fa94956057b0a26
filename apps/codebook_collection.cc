#include "codebook_collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <tuple>

#include "orthant/codebook/certificate.h"
#include "orthant/codebook/codebook_export.h"
#include "orthant/codebook/codebook_io.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/input_file.h"
#include "orthant/core/parallel_for.h"
#include "orthant/core/printable.h"

namespace orthant::apps {
namespace {

using codebook::CodebookFile;

/// Head and embedding sizes in use, the small laws, and 0, the Gaussian.
constexpr std::int64_t kDims[] = {0,   2,   3,   4,   8,   16,  32,  64,   80,   96,   112, 128,
                                  160, 192, 256, 384, 512, 576, 768, 1024, 1536, 3072, 4096};
constexpr int kLargestBits = 8;
constexpr const char* kIndex = "index.csv";
constexpr std::size_t kLargestIndex = std::size_t{16} << 20;

std::string index_of(const std::vector<CodebookFile>& files) {
  std::string text = "file,density,dim,bits,relative_distortion,four_to_the_bits_times_distortion,entropy_bits\n";
  for (const CodebookFile& file : files) {
    const codebook::Codebook& book = file.codebook;
    const double relative = book.distortion() * (book.dim() > 0 ? static_cast<double>(book.dim()) : 1.0);
    text += fmt::format("{}.json,{},{},{},{:.15g},{:.12g},{:.12g}\n", codebook::export_name(book), book.density(),
                        book.dim(), book.bits(), relative, std::ldexp(relative, 2 * book.bits()), book.entropy());
  }
  return text;
}

std::vector<std::filesystem::path> files_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw_invalid_input(path, "folder", "no *.json file", "codebook files");
  return files;
}

struct Verdict {
  std::optional<CodebookFile> file;
  std::vector<std::string> faults;
  std::string unreadable;
};

Verdict verdict_on(const std::filesystem::path& path) {
  try {
    CodebookFile file = codebook::read_codebook(path);
    std::vector<std::string> faults = codebook::faults(file);
    return {std::move(file), std::move(faults), {}};
  } catch (const InvalidInput& error) {
    return {std::nullopt, {}, error.what()};
  } catch (const InvalidArgument& error) {
    return {std::nullopt, {}, path.string() + ": " + error.what()};
  }
}

/// The index must list exactly the folder's files, with their values.
bool index_matches(const std::filesystem::path& folder, std::vector<CodebookFile> files, Streams streams) {
  const std::filesystem::path path = folder / kIndex;
  if (!std::filesystem::exists(path)) return true;
  std::ranges::sort(files, {}, [](const CodebookFile& file) {
    return std::tuple(file.codebook.dim(), file.codebook.bits(), file.codebook.distortion());
  });
  if (read_file(path, kLargestIndex) == index_of(files)) return true;
  streams.out << "FAULT   " << path.string() << "\n        differs from the index of the files beside it\n";
  return false;
}

}  // namespace

int check_codebooks(const std::vector<std::string>& paths, int threads, Streams streams) {
  if (!codebook::proofs_available()) {
    throw InvalidArgument("codebook --check: this build has no ball arithmetic (Arb), build with ORTHANT_WITH_ARB=ON");
  }
  std::size_t proved = 0;
  std::size_t all = 0;
  bool faulty = false;
  bool unreadable = false;
  for (const std::string& path : paths) {
    const std::vector<std::filesystem::path> files = files_of(path);
    std::vector<Verdict> verdicts(files.size());
    parallel_for(files.size(), threads, [&](std::size_t i) { verdicts[i] = verdict_on(files[i]); });
    std::vector<CodebookFile> read;
    for (std::size_t i = 0; i < files.size(); ++i) {
      ++all;
      if (!verdicts[i].unreadable.empty()) {
        streams.err << "orthant: " << printable(verdicts[i].unreadable) << '\n';
        unreadable = true;
        continue;
      }
      read.push_back(*verdicts[i].file);
      const std::vector<std::string>& faults = verdicts[i].faults;
      if (faults.empty()) {
        ++proved;
        continue;
      }
      faulty = true;
      streams.out << "FAULT   " << printable(files[i].string()) << '\n';
      constexpr std::size_t kShown = 4;
      for (std::size_t k = 0; k < std::min(kShown, faults.size()); ++k) {
        streams.out << "        " << printable(faults[k]) << '\n';
      }
      if (faults.size() > kShown) streams.out << fmt::format("        and {} more\n", faults.size() - kShown);
    }
    if (std::filesystem::is_directory(path) && read.size() == files.size() && !index_matches(path, read, streams)) {
      faulty = true;
    }
  }
  streams.out << fmt::format("{} of {} codebooks proved{}\n", proved, all,
                             proved == all ? ": every number is the double nearest to the optimum" : "");
  if (unreadable) return kBadInput;
  return faulty ? kViolated : kDone;
}

int write_collection(const std::filesystem::path& folder, int threads, Streams streams) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (!std::filesystem::is_directory(folder)) {
    throw_invalid_argument("codebook --collection", "folder", folder.string(), "a folder that can be made");
  }
  struct Entry {
    std::int64_t dim;
    int bits;
  };
  std::vector<Entry> entries;
  for (const std::int64_t dim : kDims) {
    for (int bits = 1; bits <= kLargestBits; ++bits) entries.push_back({dim, bits});
  }
  std::vector<std::optional<CodebookFile>> solved(entries.size());
  // The largest first: they take longest.
  parallel_for(entries.size(), threads, [&](std::size_t i) {
    const std::size_t at = entries.size() - 1 - i;
    solved[at] = codebook::certified_codebook(entries[at].dim, entries[at].bits);
  });
  std::vector<CodebookFile> files;
  for (auto& file : solved) {
    codebook::write_codebook(folder / (codebook::export_name(file->codebook) + ".json"), *file);
    files.push_back(*std::move(file));
  }
  write_file(folder / kIndex, index_of(files));
  streams.out << fmt::format("{} codebooks written to {}\n", files.size(), printable(folder.string()));
  return kDone;
}

}  // namespace orthant::apps

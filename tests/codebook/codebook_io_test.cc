#include "orthant/codebook/codebook_io.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

std::string sample(int bits = 2) { return to_json(to_file(lloyd_max(density::SphereCoordinate(8), {.bits = bits}))); }

/// The sample with `from` replaced by `to`; the replacement must happen.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = sample();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& json, const std::string& named) {
  try {
    parse_codebook(json, "book.json");
    ADD_FAILURE() << "accepted, expected a complaint about " << named;
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("book.json: ")) << message;
    EXPECT_NE(message.find(named), std::string::npos) << message;
  }
}

TEST(CodebookIo, ReadsBackExactly) {
  for (const int bits : {0, 1, 4, 8}) {
    for (const std::int64_t d : {1, 2, 3, 128}) {
      const CodebookFile written = to_file(lloyd_max(density::SphereCoordinate(d), {.bits = bits}));
      const CodebookFile read = parse_codebook(to_json(written), "memory");
      EXPECT_EQ(to_json(read), to_json(written));
      EXPECT_TRUE(std::ranges::equal(read.codebook.centroids(), written.codebook.centroids()));
      EXPECT_TRUE(std::ranges::equal(read.codebook.boundaries(), written.codebook.boundaries()));
      EXPECT_EQ(read.codebook.distortion(), written.codebook.distortion());
      EXPECT_EQ(read.probabilities, written.probabilities);
    }
  }
}

TEST(CodebookIo, EveryTruncationIsRefused) {
  const std::string text = sample();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {  // the last brace and newline
    EXPECT_THROW(parse_codebook(text.substr(0, size), "cut"), InvalidInput) << size;
  }
}

TEST(CodebookIo, EachMissingFieldIsNamed) {
  for (const std::string field : {"format", "density", "dim", "bits", "solver", "distortion", "distortion_hex",
                                  "entropy", "residual", "centroids", "centroids_hex", "boundaries", "probabilities"}) {
    expect_refused(changed("\"" + field + "\"", "\"x" + field + "\""), field);
  }
}

TEST(CodebookIo, WrongTypesAndRangesAreNamed) {
  expect_refused("[]", "JSON");
  expect_refused("3", "JSON");
  expect_refused("\xff", "JSON");
  expect_refused(changed("\"dim\": 8", "\"dim\": -8"), "dim");
  expect_refused(changed("\"dim\": 8", "\"dim\": 8.5"), "dim");
  expect_refused(changed("\"dim\": 8", "\"dim\": 18446744073709551615"), "dim");
  expect_refused(changed("\"dim\": 8", "\"dim\": \"8\""), "dim");
  expect_refused(changed("\"bits\": 2", "\"bits\": 3"), "probabilities");
  expect_refused(changed("\"bits\": 2", "\"bits\": 17"), "bits");
  expect_refused(changed("\"residual\": ", "\"residual\": -"), "residual");
  expect_refused(changed("orthant-codebook-1", "orthant-codebook-2"), "format");
  expect_refused(changed("\"centroids\": [", "\"centroids\": [null, "), "centroids[0]");
  expect_refused(changed("\"centroids_hex\": [\"", "\"centroids_hex\": [\"0x1p0\", \""), "centroids_hex");
  expect_refused(changed("0x", "0y"), "hex");
}

// Planted fault: a digit changed in only one of a number's two forms.
TEST(CodebookIo, TheTwoFormsOfANumberMustAgree) {
  const std::string text = sample();
  const std::size_t at = text.find("\"centroids\": [") + std::string("\"centroids\": [-0.").size();
  std::string faulty = text;
  faulty[at] = faulty[at] == '1' ? '2' : '1';
  expect_refused(faulty, "centroids[0]");
}

TEST(CodebookIo, FilesAreCheckedBeforeTheyAreRead) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "orthant_codebook_io";
  std::filesystem::create_directories(folder);
  EXPECT_THROW(read_codebook(folder / "missing.json"), InvalidInput);
  EXPECT_THROW(read_codebook(folder), InvalidInput);
  const auto path = folder / "book.json";
  write_codebook(path, to_file(lloyd_max(density::Gaussian(), {.bits = 3})));
  EXPECT_EQ(read_codebook(path).codebook.density(), "gaussian");
  std::filesystem::resize_file(path, (16U << 20U) + 1);
  EXPECT_THROW(read_codebook(path), InvalidInput);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orthant::codebook

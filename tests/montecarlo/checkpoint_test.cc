#include "orthant/montecarlo/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "orthant/core/error.h"

namespace orthant::montecarlo {
namespace {

Checkpoint example() {
  Moments m;
  m.add(0.1);
  m.add(1.0 / 3);
  Checkpoint c;
  c.key = "seed=1";
  c.experiments["a"] = {3, {m, Moments()}, {{0.1, 1e-300, 5e22}, {}}};
  return c;
}

TEST(Checkpoint, NumbersSurvive) {
  const Checkpoint back = parse_checkpoint(to_json(example()), "seed=1");
  const Progress& p = back.experiments.at("a");
  EXPECT_EQ(p.blocks, 3U);
  EXPECT_EQ(p.channels[0].mean(), example().experiments["a"].channels[0].mean());
  EXPECT_EQ(p.channels[1].count(), 0U);
  EXPECT_EQ(p.channels[1].min(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(p.sequences[0], (std::vector<double>{0.1, 1e-300, 5e22}));
  EXPECT_EQ(to_json(back), to_json(example()));
}

TEST(Checkpoint, RefusesWhatIsNotItsOwn) {
  EXPECT_THROW(parse_checkpoint(to_json(example()), "seed=2"), InvalidInput);
  EXPECT_THROW(parse_checkpoint("", "seed=1"), InvalidInput);
  const std::string head = R"({"format":"orthant-checkpoint-1","key":"k","experiments":{"a":)";
  for (const std::string& text : {std::string("{"), std::string("[]"), std::string("{}"), std::string("null"),
                                  std::string(R"({"format":"x"})"), std::string(R"({"format":"orthant-checkpoint-1"})"),
                                  head + "{}}}", head + R"({"blocks":"many","channels":[],"sequences":[]}}})",
                                  head + R"({"blocks":-1,"channels":[],"sequences":[]}}})",
                                  head + R"({"blocks":1,"channels":[[1]],"sequences":[]}}})",
                                  head + R"({"blocks":1,"channels":[],"sequences":[["x"]]}}})"}) {
    EXPECT_THROW(parse_checkpoint(text, "k"), InvalidInput) << text;
  }
}

TEST(Checkpoint, FileAppearsWhole) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "checkpoint.json";
  std::filesystem::remove(path);
  EXPECT_TRUE(read_checkpoint(path, "k").experiments.empty());
  write_checkpoint(path, example());
  EXPECT_EQ(read_checkpoint(path, "seed=1").experiments.size(), 1U);
  EXPECT_THROW(read_checkpoint(path, "other"), InvalidInput);
  std::filesystem::remove(path);
}

// An empty file is what a full disk leaves, not a new run; every message says which file it is about.
TEST(Checkpoint, AnEmptyFileAndADirectoryAreRefusedByName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "checkpoints";
  std::filesystem::create_directories(folder);
  const std::filesystem::path empty = folder / "empty.json";
  std::ofstream(empty).close();
  for (const std::filesystem::path& path : {empty, folder}) {
    try {
      read_checkpoint(path, "k");
      ADD_FAILURE() << path;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orthant::montecarlo

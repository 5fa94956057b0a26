#include "orthant/report/report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/version.h"

namespace orthant::report {
namespace {

TEST(Report, Sha256KnownAnswers) {
  // FIPS 180-4 examples: the empty message and "abc".
  const auto path = std::filesystem::path(testing::TempDir()) / "hashed";
  write_file(path, "");
  EXPECT_EQ(describe_input(path).sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  write_file(path, "abc");
  const Input input = describe_input(path);
  EXPECT_EQ(input.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(input.bytes, 3U);
  EXPECT_EQ(input.path, path.string());
  // One million "a": more than one block of the reader.
  write_file(path, std::string(1000000, 'a'));
  EXPECT_EQ(describe_input(path).sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::filesystem::remove(path);
  EXPECT_THROW(describe_input(path), InvalidInput);
  EXPECT_THROW(describe_input("/tmp"), InvalidInput);
}

TEST(Report, JsonIsADataFrameWithItsProvenance) {
  Table rows({{"layer", "layer", Type::kInteger, 4}, {"kl_nats", "KL", Type::kReal, 4}});
  rows.add_row({std::int64_t{5}, 0.1});
  rows.add_row({{}, std::numeric_limits<double>::denorm_min()});
  Table summary({{"note", "note", Type::kText, 4}});
  summary.add_row({std::string("\xff not UTF-8")});
  Provenance provenance;
  provenance.kind = "kv";
  provenance.command = "orthant kv 'a b'";
  provenance.seed = std::numeric_limits<std::uint64_t>::max();
  provenance.target = "scalar";
  provenance.settings = {{"layers", std::string("all")}, {"exact", true}};
  provenance.inputs = {{"a b", 3, "00"}};

  const std::string text = to_json(provenance, rows, {{"summary", summary}});
  EXPECT_EQ(text, to_json(provenance, rows, {{"summary", summary}}));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("schema"), "orthant-report-1");
  EXPECT_EQ(json.at("kind"), "kv");
  EXPECT_EQ(json.at("command"), "orthant kv 'a b'");
  EXPECT_EQ(json.at("seed").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json.at("library"), version());
  EXPECT_FALSE(json.at("cpu").get<std::string>().empty());
  EXPECT_EQ(json.at("settings").at("exact"), true);
  EXPECT_EQ(json.at("inputs").at(0).at("bytes"), 3);
  EXPECT_EQ(json.at("columns").at(1), nlohmann::json({{"name", "kl_nats"}, {"type", "real"}}));
  ASSERT_EQ(json.at("rows").size(), 2U);
  EXPECT_EQ(json.at("rows").at(0), nlohmann::json({{"layer", 5}, {"kl_nats", 0.1}}));
  EXPECT_TRUE(json.at("rows").at(1).at("layer").is_null());
  EXPECT_EQ(json.at("rows").at(1).at("kl_nats").get<double>(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(json.at("summary").at(0).at("note"), "\xEF\xBF\xBD not UTF-8");
  EXPECT_THROW(to_json(provenance, rows, {{"rows", summary}}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::report

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/run_app.h"
#include "orthant/kv/safetensors.h"
#include "test_paths.h"

namespace orthant::apps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kDump = data_dir() / "gemma3-270m-512.safetensors";

class KvCommand : public testing::Test {
 protected:
  KvCommand() : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~KvCommand() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(KvCommand, ReportsAreByteIdenticalForAnyNumberOfThreads) {
  std::vector<std::string> reports;
  std::vector<std::string> outputs;
  for (const char* threads : {"1", "2", "3", "1"}) {
    const Outcome outcome =
        run({"kv", kDump, "--bits", "2,4", "--threads", threads, "--json", file("a.json"), "--csv", file("a.csv")});
    ASSERT_EQ(outcome.code, kDone) << outcome.err;
    reports.push_back(contents(file("a.json")) + contents(file("a.csv")));
    outputs.push_back(outcome.out);
  }
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i], reports[0]);
    EXPECT_EQ(outputs[i], outputs[0]);
  }
  ASSERT_EQ(run({"kv", kDump, "--bits", "2,4", "--seed", "2", "--json", file("b.json")}).code, kDone);
  const auto first = nlohmann::json::parse(contents(file("a.json")));
  const auto second = nlohmann::json::parse(contents(file("b.json")));
  EXPECT_EQ(second.at("seed"), 2);
  EXPECT_NE(first.at("rows").at(0), second.at("rows").at(0));  // turbo-mse draws a rotation
  EXPECT_EQ(first.at("rows").at(4), second.at("rows").at(4));  // q8_0 draws nothing
}

TEST_F(KvCommand, WritesAPage) {
  ASSERT_EQ(run({"kv", kDump, "--layers", "0,5", "--bits", "2", "--html", file("a.html")}).code, kDone);
  const std::string page = contents(file("a.html"));
  for (const char* part :
       {"<h2>All layers</h2>", "gemma-3-270m", "<svg", "turbo-mse:2,match=diag", "<h2>Layer by layer</h2>",
        "sliding:512", "softmax scale times &lt;q, k&gt;", "--bits 2</p>", "sha256"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_EQ(page.find("http"), page.find("http://www.w3.org"));  // the name space of SVG, no address to load from
  // Nothing is lost, nothing to draw on a logarithmic scale: a page without a plot.
  const Outcome exact = run({"kv", kDump, "--layers", "0", "--method", "K=f32", "--html", file("b.html")});
  EXPECT_EQ(exact.code, kDone);
  EXPECT_EQ(exact.err, "orthant kv: the plot is left out: no KL is above 0\n");
  EXPECT_EQ(contents(file("b.html")).find("<svg"), std::string::npos);
}

TEST_F(KvCommand, RowsAreADataFrame) {
  ASSERT_EQ(run({"kv", kDump, "--layers", "0,5", "--json", file("a.json"), "--svg", file("a.svg")}).code, kDone);
  const auto report = nlohmann::json::parse(contents(file("a.json")));
  EXPECT_EQ(report.at("kind"), "kv");
  EXPECT_EQ(report.at("inputs").at(0).at("bytes"), 5507672);
  EXPECT_THAT(report.at("settings").at("methods").get<std::string>(),
              HasSubstr("K=turbo-mse:4,norm=f16,rotation=haar"));
  const auto& rows = report.at("rows");
  ASSERT_EQ(rows.size(), 2U * 19U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), report.at("columns").size());
    EXPECT_EQ(row.at("queries"), 4 * 64);
    EXPECT_EQ(row.at("values"), "exact");
    EXPECT_EQ(row.at("value_bytes_per_token"), 512);
  }
  // True sizes: a 16-bit norm beside 256 codes of 4 bits, and what the match learnt from these 512 tokens, a mean and a
  // scale of 32 bits for each channel; 8 blocks of 34 bytes.
  EXPECT_EQ(rows.at(6).at("keys"), "turbo-mse:4,match=diag,align=256,calibration=self");
  EXPECT_EQ(rows.at(7).at("keys"), "turbo-mse:4");
  EXPECT_EQ(rows.at(7).at("key_bytes_per_token"), 2 + 256 * 4 / 8);
  EXPECT_EQ(rows.at(6).at("key_bytes_per_token"), 2 + 256 * 4 / 8 + 2 * 256 * 4 / 512);
  EXPECT_EQ(rows.at(16).at("keys"), "q8_0");
  EXPECT_EQ(rows.at(16).at("key_bytes_per_token"), 8 * 34);
  EXPECT_EQ(rows.at(16).at("key_bits_per_element"), 8.5);
  EXPECT_TRUE(rows.at(16).at("key_distortion_theory").is_null());
  // More bits, less of every error; matched keys lose less than plain ones and lie nearer to the Gaussian benchmark.
  for (std::size_t i = 0; i < 16; ++i) {
    for (const char* metric : {"key_distortion", "score_rms", "kl_nats", "output_error_mean"}) {
      if (i >= 2) {
        EXPECT_LT(rows.at(i).at(metric).get<double>(), rows.at(i - 2).at(metric).get<double>()) << metric << i;
      }
    }
    if (i % 2 == 1) continue;
    for (const char* metric : {"score_rms", "kl_nats", "bits_from_gaussian"})
      EXPECT_LT(rows.at(i).at(metric).get<double>(), rows.at(i + 1).at(metric).get<double>()) << metric << i;
  }
  ASSERT_EQ(report.at("summary").size(), 19U);
  EXPECT_EQ(report.at("summary").at(7).at("key_bytes_per_token"), 2 * 130);
  const double mean = (rows.at(7).at("kl_nats").get<double>() + rows.at(26).at("kl_nats").get<double>()) / 2;
  EXPECT_NEAR(report.at("summary").at(7).at("kl_nats").get<double>(), mean, 1e-15);
}

TEST_F(KvCommand, PoliciesReplaceTheDefaultSweep) {
  const Outcome outcome = run({"kv", kDump, "--layers", "17", "--method", "K=q4_0 V=q8_0", "--method", "V=turbo-mse:2",
                               "--json", file("a.json")});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("V distortion"));
  const auto rows = nlohmann::json::parse(contents(file("a.json"))).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at(0).at("value_bits_per_element"), 8.5);
  EXPECT_EQ(rows.at(1).at("keys"), "exact");
  EXPECT_TRUE(rows.at(1).at("key_distortion").is_null());
  EXPECT_EQ(rows.at(1).at("kl_nats"), 0.0);
  EXPECT_GT(rows.at(1).at("output_error_mean").get<double>(), 0.0);
  EXPECT_EQ(rows.at(1).at("top1_agreement"), 1.0);
}

TEST_F(KvCommand, TheDumpMayFollowAMethod) {
  const Outcome outcome = run({"kv", "--layers", "0", "--method", "K=q4_0", "--method", "K=q8_0", kDump});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, run({"kv", kDump, "--layers", "0", "--method", "K=q4_0", "--method", "K=q8_0"}).out);
}

TEST_F(KvCommand, WrongUsageIsRefusedBeforeAnyWork) {
  const auto refused = [&](std::vector<std::string> arguments, const char* message) {
    arguments.insert(arguments.begin(), "kv");
    arguments.insert(arguments.end(), {"--json", file("never.json")});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kUsage) << message;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(fs::is_empty(folder_));
  };
  refused({}, "dump is required");
  refused({kDump, "--layers", "3"}, "got 3, expected one of 0, 5, 6, 11, 14, 17");
  refused({kDump, "--layers", "0-"}, "--layers");
  refused({kDump, "--bits", "9"}, "--bits");
  refused({kDump, "--bits", "4", "--method", "K=q8_0"}, "--bits");
  refused({kDump, "--method", "K=turbo-mse:9"}, "turbo-mse");
  refused({kDump, "--method", "K=turbo-mse:4,colour=red"}, "colour");
  refused({kDump, "--method", "turbo-mse:4"}, "turbo-mse:4");
  refused({kDump, "--method", "K=q8_0 E=window:4"}, "\"E=window:4\", expected K=method or V=method");
  refused({kDump, "--threads", "-1"}, "--threads");
  refused({kDump, "--svg", file("missing/a.svg")}, "missing/a.svg");
}

TEST_F(KvCommand, BadFilesAreRefusedByName) {
  const Outcome missing = run({"kv", file("no.safetensors")});
  EXPECT_EQ(missing.code, kBadInput);
  EXPECT_THAT(missing.err, HasSubstr("no.safetensors"));
  std::string bytes = contents(kDump);
  std::ofstream(file("cut.safetensors"), std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  const Outcome cut = run({"kv", file("cut.safetensors"), "--json", file("a.json")});
  EXPECT_EQ(cut.code, kBadInput);
  EXPECT_THAT(cut.err, HasSubstr("cut.safetensors: tensor"));
  // The last two bytes belong to a tensor of layer 6, 14 or another: an infinity in F16.
  bytes[bytes.size() - 2] = '\0';
  bytes[bytes.size() - 1] = '\x7c';
  std::ofstream(file("inf.safetensors"), std::ios::binary) << bytes;
  const Outcome inf = run({"kv", file("inf.safetensors"), "--json", file("a.json")});
  EXPECT_EQ(inf.code, kBadInput);
  EXPECT_THAT(inf.err, HasSubstr("infinity"));
  EXPECT_FALSE(fs::exists(file("a.json")));
}

/// The shipped dump with another header, the same tensor bytes.
class ChangedDump {
 public:
  ChangedDump() : bytes(contents(kDump)) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    header = nlohmann::json::parse(bytes.substr(sizeof length, length));
    bytes.erase(0, sizeof length + length);
  }
  void write(const std::string& path) const {
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length) << text << bytes;
  }

  std::string bytes;  ///< of the tensors
  nlohmann::json header;
};

TEST_F(KvCommand, HalvesReadAsBfloat16AreBadInput) {
  for (const std::string part : {"keys", "queries"}) {
    ChangedDump dump;
    for (auto& [name, tensor] : dump.header.items()) {
      if (name.ends_with("." + part)) tensor["dtype"] = "BF16";
    }
    dump.write(file("mixed.safetensors"));
    const Outcome outcome = run({"kv", file("mixed.safetensors"), "--bits", "4"});
    EXPECT_EQ(outcome.code, kBadInput) << part;
    EXPECT_THAT(outcome.err, HasSubstr("." + part + " at head 0, token "));
    EXPECT_THAT(outcome.err, HasSubstr("is the tensor's dtype right?"));
    EXPECT_EQ(outcome.out, "");
  }
}

// 65504 in every channel is fine for F16 elements, its norm of 16 * 65504 for no F16 scale.
TEST_F(KvCommand, WhatAMethodCannotCodeIsBadInputWithItsPlace) {
  ChangedDump dump;
  const std::size_t first = dump.header["layers.0.keys"]["data_offsets"][0];
  for (std::size_t j = 0; j < 256; ++j) dump.bytes.replace(first + 2 * j, 2, "\xff\x7b");
  dump.write(file("loud.safetensors"));
  const Outcome outcome = run({"kv", file("loud.safetensors"), "--layers", "0", "--method", "K=turbo-mse:4"});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_THAT(outcome.err,
              HasSubstr("loud.safetensors: layer 0, KV head 0 by \"K=turbo-mse:4\": encode: scale of row 0"));
  EXPECT_EQ(run({"kv", file("loud.safetensors"), "--layers", "0", "--method", "K=turbo-mse:4,norm=f32"}).code, kDone);
}

/// A dump in F32 of one layer, number 4, with one KV head of two channels that queries read as well: the keys.
void write_small_dump(const std::string& path, const std::vector<float>& keys) {
  const auto bytes = kv::float_tensor_bytes(keys, kv::TensorType::kF32);
  const std::size_t tokens = keys.size() / 2;
  std::vector<kv::TensorData> tensors;
  for (const char* name : {"layers.4.keys", "layers.4.queries", "layers.4.values"})
    tensors.push_back({name, kv::TensorType::kF32, {1, tokens, 2}, bytes});
  kv::write_safetensors(path,
                        {{"format", "orthant-kv-1"},
                         {"model", "m"},
                         {"source", "s"},
                         {"licence", "l"},
                         {"tokens", std::to_string(tokens)},
                         {"softmax_scale", "0.5"},
                         {"rope_layout", "half"},
                         {"first_position", "0"},
                         {"layers", "4"},
                         {"layer_types", "global"},
                         {"rope_theta", "10000"}},
                        tensors);
}

TEST_F(KvCommand, AKeyBeyondHalfPrecisionIsRefusedByTheFormatsThatCannotHoldIt) {
  write_small_dump(file("loud.safetensors"), {1, 2, 3, -65536, 5, 6, 7, 8});
  for (const char* method : {"K=f32", "K=bf16", "K=uniform:4,group=2,meta=bf16", "K=turbo-mse:4,norm=f32",
                             "K=turbo-mse:4,sink=2,exact=bf16"}) {
    EXPECT_EQ(run({"kv", file("loud.safetensors"), "--method", method}).code, kDone) << method;
  }
  for (const auto& [method, way_out] : {std::pair{"K=f16", "a wider format is bf16 or f32"},
                                        {"K=turbo-mse:4", "a wider format is norm=f32"},
                                        {"K=turbo-mse:4,sink=2", "a wider format is bf16 or f32"},
                                        {"K=uniform:4,group=2", "a wider format is meta=bf16 or meta=f32"}}) {
    const Outcome outcome = run({"kv", file("loud.safetensors"), "--method", method});
    EXPECT_EQ(outcome.code, kBadInput) << method;
    EXPECT_THAT(outcome.err, HasSubstr("loud.safetensors: layer 4, KV head 0 by \"" + std::string(method)));
    EXPECT_THAT(outcome.err, HasSubstr(way_out)) << method;
  }
}

TEST_F(KvCommand, TooFewTokensToCalibrateOnAreBadInput) {
  write_small_dump(file("one.safetensors"), {1, 2});
  for (const std::string method : {"K=kvquant:3", "V=kvquant:3", "K=kvquant:3,rope=post"}) {
    const Outcome outcome = run({"kv", file("one.safetensors"), "--method", method});
    EXPECT_EQ(outcome.code, kBadInput) << method;
    EXPECT_THAT(outcome.err, HasSubstr("one.safetensors: tokens of layer 4 that \"" + method.substr(2) +
                                       "\" is calibrated on, got 1, expected more than the 1 of its sink"));
  }
  EXPECT_EQ(run({"kv", file("one.safetensors"), "--method", "K=kvquant:3,sink=0"}).code, kDone);
}

TEST_F(KvCommand, ControlCharactersOfADumpAreEscaped) {
  ChangedDump dump;
  dump.header["__metadata__"]["model"] = "\x1b[31mred\n";
  dump.write(file("red.safetensors"));
  const Outcome outcome = run({"kv", file("red.safetensors"), "--layers", "0", "--bits", "4"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("red.safetensors: \\x1b[31mred\\n, 512 tokens"));
  dump.header["__metadata__"]["rope_layout"] = "\x1b[2J";
  dump.write(file("red.safetensors"));
  EXPECT_THAT(run({"kv", file("red.safetensors")}).err, HasSubstr("rope_layout, got '\\x1b[2J'"));
}

TEST_F(KvCommand, CalibrationThatCannotBeInvertedIsBadInput) {
  const auto refused = [&](std::vector<std::string> arguments, const char* message) {
    arguments.insert(arguments.begin(), {"calibrate", kDump, "--out", file("c.safetensors")});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << message;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(fs::is_empty(folder_));
  };
  refused({"--skip", "511"}, "tokens, got 512, of which calibration skips 511, expected at least 2 that are left");
  refused({"--skip", "512"}, "of which calibration skips 512");
  refused({"--shrinkage", "0"}, "more tokens or a larger shrinkage");
}

TEST_F(KvCommand, SeveralDumpsStandSideBySide) {
  const Outcome outcome = run({"kv", kDump, kDump, "--layers", "0", "--bits", "4"});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dump"));
}

TEST_F(KvCommand, HelpShowsAnExample) {
  const Outcome outcome = run({"kv", "--help"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("Example:  orthant kv data/gemma3-270m-512.safetensors"));
}

}  // namespace
}  // namespace orthant::apps

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "orthant/core/rng.h"
#include "orthant/kv/npy.h"

namespace orthant::apps {
namespace {

namespace fs = std::filesystem;

class AuditCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "audit_command";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string save(const char* name, const std::vector<float>& values, std::size_t columns) {
    const std::string path = (folder_ / name).string();
    const std::size_t shape[] = {values.size() / columns, columns};
    kv::write_npy<float>(path, shape, values);
    return path;
  }

  int run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_command(arguments, {out, err});
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  fs::path folder_;
  std::string out_;
  std::string err_;
};

std::vector<float> unit_vectors(std::size_t n, std::size_t d) {
  std::vector<float> x(n * d);
  for (std::size_t i = 0; i < n; ++i) {
    RngStream rng(1, claim_domain("audit command"), i);
    rng.fill_unit_vector(std::span(x).subspan(i * d, d));
  }
  return x;
}

TEST_F(AuditCommand, DecodedFindsTheMissingFactor) {
  constexpr std::size_t kDim = 64;
  const std::vector<float> x = unit_vectors(400, kDim);
  // One bit: +-c per coordinate, c = 0.0992 at d = 64; without 1/sqrt(d) it is 0.794.
  std::vector<float> right = x;
  std::vector<float> wrong = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    right[i] = x[i] < 0 ? -0.1001F : 0.1001F;
    wrong[i] = 8 * right[i];
  }
  const std::string keys = save("x.npy", x, kDim);
  EXPECT_EQ(run({"audit", "decoded", keys, save("right.npy", right, kDim), "--bits", "1"}), kDone) << out_ << err_;
  const std::string json = (folder_ / "report.json").string();
  EXPECT_EQ(run({"audit", "decoded", keys, save("wrong.npy", wrong, kDim), "--bits", "1", "--json", json}), kViolated);
  EXPECT_NE(out_.find("FAULT"), std::string::npos);
  std::ifstream file(json);
  const nlohmann::json report = nlohmann::json::parse(file);
  EXPECT_EQ(report["settings"]["faulty"], true);
  EXPECT_EQ(report["findings"].back()["id"], "level-scale");
  EXPECT_EQ(report["inputs"].size(), 2U);
}

TEST_F(AuditCommand, RefusesBadInput) {
  const std::string x = save("x.npy", unit_vectors(400, 64), 64);
  EXPECT_EQ(run({"audit"}), kUsage);
  EXPECT_EQ(run({"audit", "decoded", x}), kUsage);
  EXPECT_EQ(run({"audit", "decoded", x, (folder_ / "none.npy").string()}), kBadInput);
  EXPECT_EQ(run({"audit", "decoded", x, save("y.npy", unit_vectors(300, 64), 64)}), kBadInput);
  EXPECT_NE(err_.find("y.npy: shape, got (300, 64), expected (400, 64)"), std::string::npos) << err_;
  EXPECT_EQ(run({"audit", "decoded", x, save("y.npy", unit_vectors(800, 32), 32)}), kBadInput);
  const std::string few = save("few.npy", unit_vectors(99, 64), 64);
  EXPECT_EQ(run({"audit", "decoded", few, few}), kBadInput);
  EXPECT_NE(err_.find("few.npy: vectors, got 99 usable"), std::string::npos) << err_;
  EXPECT_EQ(run({"audit", "decoded", x, x, "--dim", "60"}), kUsage);
  const std::string flat = (folder_ / "flat.npy").string();
  const std::size_t shape[] = {64};
  kv::write_npy<float>(flat, shape, unit_vectors(1, 64));
  EXPECT_EQ(run({"audit", "decoded", x, flat}), kBadInput);
  EXPECT_NE(err_.find("flat.npy"), std::string::npos);
  EXPECT_EQ(run({"audit", "estimator", x, x, x}), kBadInput);
  EXPECT_NE(err_.find("x.npy: shape, got (400, 64), expected (400, 400)"), std::string::npos) << err_;
}

TEST_F(AuditCommand, ADirectoryIsCalledOne) {
  const std::string folder = folder_.string();
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"audit", "codebook", folder},
                                                    {"audit", "rotation", folder},
                                                    {"audit", "decoded", folder, folder},
                                                    {"audit", "estimator", folder, folder, folder}}) {
    EXPECT_EQ(run(arguments), kBadInput);
    EXPECT_NE(err_.find("cannot read " + folder + ": got a directory"), std::string::npos) << err_;
  }
}

}  // namespace
}  // namespace orthant::apps

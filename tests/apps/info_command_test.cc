#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "apps/run_app.h"
#include "orthant/core/version.h"

namespace orthant::apps {
namespace {

TEST(InfoCommand, SaysWhatAReportDependsOn) {
  const std::string json = testing::TempDir() + "info.json";
  const Outcome outcome = run({"info", "--json", json});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  for (const char* part :
       {"orthant   ", "cpu       ", "threads   ", "target    ", "compiler  ", "OpenBLAS  ", "oneTBB    "}) {
    EXPECT_THAT(outcome.out, testing::HasSubstr(part));
  }
  EXPECT_THAT(outcome.out, testing::HasSubstr(std::string(version())));
  EXPECT_THAT(contents(json), testing::HasSubstr("\"value\": \"" + std::string(version()) + '"'));
  std::filesystem::remove(json);
}

}  // namespace
}  // namespace orthant::apps

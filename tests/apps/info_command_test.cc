#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "command.h"
#include "orthant/core/version.h"

namespace orthant::apps {
namespace {

TEST(InfoCommand, SaysWhatAReportDependsOn) {
  std::ostringstream out;
  std::ostringstream err;
  ASSERT_EQ(run_command({"info"}, {out, err}), kDone) << err.str();
  for (const char* part :
       {"orthant   ", "cpu       ", "threads   ", "target    ", "compiler  ", "OpenBLAS  ", "oneTBB    "}) {
    EXPECT_THAT(out.str(), testing::HasSubstr(part));
  }
  EXPECT_THAT(out.str(), testing::HasSubstr(std::string(version())));
}

}  // namespace
}  // namespace orthant::apps

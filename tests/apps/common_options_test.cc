#include "common_options.h"

#include <gtest/gtest.h>

#include "orthant/core/error.h"

namespace orthant::apps {
namespace {

TEST(NumberList, ListsAndRanges) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(number_list("--bits", "4", 1, 8), List{4});
  EXPECT_EQ(number_list("--dim", "64,128", 2, 1000), (List{64, 128}));
  EXPECT_EQ(number_list("--bits", "1-3,8,2", 1, 8), (List{1, 2, 3, 8}));
  for (const char* text : {"", ",", "4,", "x", "4-2", "1-", "-1", "9", "1-9", "1--3", "4 ", "99999999999999999999"}) {
    EXPECT_THROW(number_list("--bits", text, 1, 8), InvalidArgument) << text;
  }
}

TEST(RecordedCommand, LeavesOutWhatCannotChangeAResult) {
  EXPECT_EQ(recorded_command({{"verify", "--threads", "3", "--seed", "7", "--json=a b.json", "--resume", "x", "qjl"}}),
            "orthant verify --seed 7 qjl");
}

}  // namespace
}  // namespace orthant::apps

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

TEST(NumberList, SaysWhatIsWrongWithWhichPart) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      number_list("--dim", text, 2, 1000000);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("64,abc"), "--dim: item, got \"abc\", expected a whole number or a range, as in 64,128 or 1-8");
  EXPECT_EQ(refusal("1e3"), "--dim: item, got \"1e3\", expected a whole number or a range, as in 64,128 or 1-8");
  EXPECT_EQ(refusal("64,"), "--dim: item, got \"\", expected a whole number or a range, as in 64,128 or 1-8");
  EXPECT_EQ(refusal("-5"), "--dim: number, got -5, expected 2 to 1000000");
  EXPECT_EQ(refusal("99999999999999999999"), "--dim: number, got 99999999999999999999, expected 2 to 1000000");
  EXPECT_EQ(refusal("64-2"), "--dim: range, got \"64-2\", expected the smaller number first");
  EXPECT_EQ(refusal("2-10002"), "--dim: range, got \"2-10002\", expected at most 10000 numbers");
  EXPECT_EQ(refusal("2-10001"), "");
}

TEST(RecordedCommand, LeavesOutWhatCannotChangeAResult) {
  EXPECT_EQ(recorded_command({{"verify", "--threads", "3", "--seed", "7", "--json=a b.json", "--resume", "x", "qjl"}}),
            "orthant verify --seed 7 qjl");
}

}  // namespace
}  // namespace orthant::apps

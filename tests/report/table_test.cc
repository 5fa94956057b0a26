#include "orthant/report/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "orthant/core/error.h"

namespace orthant::report {
namespace {

Table sample() {
  Table table({{"method", "method", Type::kText, 4},
               {"bytes", "bytes", Type::kInteger, 4},
               {"kl_nats", "KL", Type::kReal, 3},
               {"holds", "holds", Type::kBoolean, 4}});
  table.add_row({std::string("q8_0"), std::int64_t{272}, 1.0 / 3, true});
  table.add_row({std::string("naïve, \"b\""), std::int64_t{-1}, 1e-9, false});
  table.add_row({{}, {}, {}, {}});
  return table;
}

TEST(Table, TextIsAligned) {
  EXPECT_EQ(to_text(sample()),
            "method      bytes     KL  holds\n"
            "q8_0          272  0.333    yes\n"
            "naïve, \"b\"     -1  1e-09     no\n"
            "-               -      -      -\n");
}

TEST(Table, CsvHoldsEveryDigitAndQuotesWhatMustBe) {
  EXPECT_EQ(to_csv(sample()),
            "method,bytes,kl_nats,holds\n"
            "q8_0,272,0.3333333333333333,true\n"
            "\"naïve, \"\"b\"\"\",-1,1e-09,false\n"
            ",,,\n");
}

TEST(Table, EveryCellIsTyped) {
  Table table = sample();
  const auto refused = [&](std::vector<Value> row) { EXPECT_THROW(table.add_row(std::move(row)), InvalidArgument); };
  refused({std::string("x"), std::int64_t{1}, 1.0});                    // a cell short
  refused({std::string("x"), 1.0, 1.0, true});                          // real for integer
  refused({std::string("x"), std::int64_t{1}, std::int64_t{1}, true});  // integer for real
  refused({true, std::int64_t{1}, 1.0, true});                          // boolean for text
  refused({std::string("x"), std::int64_t{1}, std::numeric_limits<double>::quiet_NaN(), true});
  refused({std::string("x"), std::int64_t{1}, -std::numeric_limits<double>::infinity(), true});
  EXPECT_EQ(table.rows().size(), 3U);
  EXPECT_THROW(Table({{"a", "a", Type::kReal, 4}, {"a", "b", Type::kReal, 4}}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::report

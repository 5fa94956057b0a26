#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/cpu_features.h"
#include "kernels/kernel_table.h"
#include "orthant/core/error.h"

namespace orthant::kernels {
namespace {

TEST(ChooseTable, TheChosenTableIsCompiledInAndSupported) {
  const KernelTable& chosen = chosen_table();
  EXPECT_TRUE(chosen.supported());
  EXPECT_EQ(&table_named(chosen.name), &chosen);
}

TEST(ChooseTable, NamesAreDistinctAndThePortableOneComesFirst) {
  std::set<std::string_view> names;
  for (const KernelTable* table : compiled_tables()) EXPECT_TRUE(names.insert(table->name).second);
  EXPECT_EQ(compiled_tables().front()->name, "scalar");
  EXPECT_TRUE(compiled_tables().front()->supported());
}

TEST(ChooseTable, UnknownAndUnsupportedNamesAreErrorsThatListTheUsableOnes) {
  for (const std::string name : {"avx9000", "AVX2", "", "scalar_narrow"}) {
    try {
      table_named(name);
      FAIL() << "accepted " << name;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos) << error.what();
    }
  }
  for (const KernelTable* table : compiled_tables()) {
    if (!table->supported()) {
      EXPECT_THROW(table_named(table->name), InvalidArgument);
    }
  }
}

TEST(StreamingPrefetch, TakesANumberOfBytesAndNothingElse) {
  EXPECT_EQ(prefetch_bytes_from("0"), 0U);
  EXPECT_EQ(prefetch_bytes_from("8192"), 8192U);
  for (const char* text : {"", "-1", "8k", " 8", "1048577", "99999999999999999999", "0x10"}) {
    EXPECT_THROW(prefetch_bytes_from(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace orthant::kernels

#include "orthant/core/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "orthant/core/error.h"

namespace orthant {
namespace {

TEST(Workspace, HandsOutAlignedDisjointMemory) {
  Workspace work(Workspace::bytes_for<float>(3) + Workspace::bytes_for<std::uint8_t>(65));
  const auto a = work.take<float>(3);
  const auto b = work.take<std::uint8_t>(65);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % Workspace::kAlignment, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % Workspace::kAlignment, 0U);
  EXPECT_GE(reinterpret_cast<std::uintptr_t>(b.data()), reinterpret_cast<std::uintptr_t>(a.data() + a.size()));
  EXPECT_EQ(work.used(), work.capacity());
}

TEST(Workspace, ScopesGiveBack) {
  Workspace work(128);
  work.take<float>(16);
  {
    const Workspace::Scope scope(work);
    work.take<float>(16);
    EXPECT_EQ(work.used(), 128U);
  }
  EXPECT_EQ(work.used(), 64U);
}

TEST(Workspace, RunningOutIsAnErrorThatNamesTheSize) {
  Workspace work(64);
  work.take<float>(16);
  try {
    work.take<float>(1);
    FAIL() << "no exception";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("128"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(Workspace(0));
}

}  // namespace
}  // namespace orthant

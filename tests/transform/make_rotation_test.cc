#include "orthant/transform/make_rotation.h"

#include <gtest/gtest.h>

#include "orthant/core/error.h"
#include "transform/dense.h"

namespace orthant::transform {
namespace {

TEST(MakeRotation, NamesComeBack) {
  for (const char* spec :
       {"haar", "hadamard:1", "hadamard:3", "kac:4", "fht-kac", "block-hadamard:16", "hadamard", "none"}) {
    const auto rotation = make_rotation(spec, 20, 3, 2);
    EXPECT_EQ(rotation->describe(), spec);
    EXPECT_FALSE(rotation->guarantee().empty());
    EXPECT_EQ(dense(*make_rotation(rotation->describe(), 20, 3, 2)), dense(*rotation));
  }
}

TEST(MakeRotation, RefusesOtherText) {
  for (const char* spec : {"", "Haar", "haar:2", "fht-kac:4", "hadamard:", "hadamard:0", "hadamard:-1", "hadamard:3x",
                           "hadamard:65", "kac:99999999999", "block-hadamard:12", "nonesuch"}) {
    EXPECT_THROW(make_rotation(spec, 16, 1), InvalidArgument) << spec;
  }
  EXPECT_THROW(make_rotation("haar", 0, 1), InvalidArgument);
  EXPECT_THROW(make_rotation("none", 0, 1), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform

// Rotations at every dimension from 1 to 4096. A Haar matrix takes d^3 steps to make: every dimension to 320, then a
// few.
#include <gtest/gtest.h>

#include "transform/random_vectors.h"

namespace orthant::transform {
namespace {

TEST(EveryDimension, FastRotationsAreOrthogonal) {
  for (const char* spec :
       {"hadamard:1", "hadamard:3", "kac:4", "fht-kac", "block-hadamard:32", "block-hadamard:64", "hadamard", "none"}) {
    for (std::size_t d = 1; d <= 4096; ++d) expect_orthogonal_on_random_vectors(spec, d);
  }
}

TEST(EveryDimension, HaarRotationsAreOrthogonal) {
  for (std::size_t d = 1; d <= 320; ++d) expect_orthogonal_on_random_vectors("haar", d);
  for (const std::size_t d : {384U, 511U, 512U, 576U, 768U, 1000U, 1024U, 1536U, 2047U, 4096U})
    expect_orthogonal_on_random_vectors("haar", d);
}

}  // namespace
}  // namespace orthant::transform

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "kv/turbo_on_keys.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/identity.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

Dump shipped_dump() { return Dump::open(data_dir() / "gemma3-270m-512.safetensors"); }

// E|x - x_hat|^2 = |x|^2 d C(f_d, b) over Haar rotations, for every x: however anisotropic real keys are, on every
// layer. 16 rotations: beyond 4 standard errors lies 1.2e-3 of Student's t with 15 degrees of freedom, so one of these
// 48 comparisons would fail for 5.4 % of all choices of seeds; the seeds are fixed.
TEST(TurboMseOnRealKeys, DistortionIsWhatTheTheoremSays) {
  const Dump dump = shipped_dump();
  std::vector<std::shared_ptr<const transform::Transform>> rotations;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) rotations.push_back(std::make_shared<transform::Haar>(256, seed));
  for (std::size_t layer = 0; layer < dump.layers().size(); ++layer) {
    ASSERT_EQ(dump.layers()[layer].head_dim, 256U);
    for (int bits = 1; bits <= 8; ++bits) {
      const Moments between = distortion_between_rotations(dump, layer, bits, rotations);
      const double expected = expected_turbo_distortion(256, bits);
      EXPECT_LE(std::abs(standard_errors_off(between, expected)), 4)
          << "layer " << dump.layers()[layer].index << ", " << bits << " bits: mean " << between.mean() << ", expected "
          << expected;
    }
  }
}

// The check above can fail: without a rotation the same keys are far off, on every layer.
TEST(TurboMseOnRealKeys, WithoutRotationTheTheoremDoesNotHold) {
  const Dump dump = shipped_dump();
  const std::vector<std::shared_ptr<const transform::Transform>> none = {std::make_shared<transform::Identity>(256)};
  for (std::size_t layer = 0; layer < dump.layers().size(); ++layer) {
    const double ratio = distortion_between_rotations(dump, layer, 4, none).mean() / expected_turbo_distortion(256, 4);
    EXPECT_GT(ratio, 1.5) << "layer " << dump.layers()[layer].index;
  }
}

}  // namespace
}  // namespace orthant::kv

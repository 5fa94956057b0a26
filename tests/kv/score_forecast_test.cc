#include "kv/score_forecast.h"

#include <gtest/gtest.h>

#include <span>

#include "test_paths.h"

namespace orthant::kv {
namespace {

// Second moments say how large the score error will be on real keys, layer by layer. The tolerance is what the method
// is asked for; rotations leave 1 to 2 % of it (standard error of four).
TEST(ScoreForecast, IsWithinTenPercentOnEveryLayerOfTheShippedDump) {
  const Dump dump = Dump::open(data_dir() / "gemma3-270m-512.safetensors");
  const Calibration calibration = calibrate(std::span(&dump, 1), {"shipped"}, {});
  for (std::size_t layer = 0; layer < dump.layers().size(); ++layer)
    for (const char* options : {",match=diag,align=256,calibration=self", ",match=full,align=pre,calibration=self"}) {
      const ForecastCheck check = check_forecast(dump, calibration, layer, 3, options, 4);
      EXPECT_NEAR(check.ratio(), 1, 0.1) << "layer " << dump.layers()[layer].index << ' ' << options
                                         << ", standard error " << check.ratio_error();
    }
}

}  // namespace
}  // namespace orthant::kv

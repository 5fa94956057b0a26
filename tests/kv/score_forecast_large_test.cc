#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "kv/score_forecast.h"

namespace orthant::kv {
namespace {

/// First tokens to leave out so that moments are those of the keys that the layer's queries see: the sink and its like,
/// and what has left the sliding window before the first query.
std::size_t unseen_tokens(const Dump& dump, const DumpLayer& layer) {
  const std::size_t end = dump.tokens() - layer.query_tokens + 1;
  return std::max<std::size_t>(16, layer.window && end > *layer.window ? end - *layer.window : 0);
}

// Every layer of the dump that the environment variable ORTHANT_KV_DUMP names, calibrated on itself, within 10 %: what
// is left is that positions and norms are not independent of what keys say, and the spread between rotations.
TEST(ScoreForecast, OfEveryLayerOfALargeDump) {
  const char* path = std::getenv("ORTHANT_KV_DUMP");
  if (path == nullptr) GTEST_SKIP() << "ORTHANT_KV_DUMP is not set";
  const Dump dump = Dump::open(path);
  std::map<std::size_t, Calibration> calibrations;  // by the tokens left out
  for (std::size_t layer = 0; layer < dump.layers().size(); ++layer) {
    const std::size_t skipped = unseen_tokens(dump, dump.layers()[layer]);
    if (!calibrations.contains(skipped)) {
      CalibrationOptions options;
      options.skipped = skipped;
      calibrations.emplace(skipped, calibrate(std::span(&dump, 1), {path}, options));
    }
    for (const char* options : {"", ",match=diag,calibration=self", ",match=diag,align=256,calibration=self",
                                ",match=diag,align=pre,calibration=self", ",match=full,align=pre,calibration=self"}) {
      // Keys that share a constant share their luck with the rotation: plain ones need more of them.
      const ForecastCheck check =
          check_forecast(dump, calibrations.at(skipped), layer, 3, options, *options == 0 ? 32 : 12);
      RecordProperty("layer " + std::to_string(dump.layers()[layer].index) + options, std::to_string(check.ratio()));
      EXPECT_NEAR(check.ratio(), 1, 0.1) << "layer " << dump.layers()[layer].index << ' ' << options
                                         << ", standard error " << check.ratio_error();
    }
  }
}

}  // namespace
}  // namespace orthant::kv

#include "orthant/kv/matched_key_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "orthant/core/error.h"
#include "orthant/kv/calibration.h"
#include "orthant/kv/dump.h"
#include "orthant/kv/matched_quantizer.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

/// The first layer and head of the shipped dump, matched to itself.
struct Fixture {
  Dump dump = Dump::open(data_dir() / "gemma3-270m-512.safetensors");
  Calibration calibration = calibrate({&dump, 1}, {"itself"}, {.skipped = 0});
  Matrix<float> keys = dump.read(0, DumpTensor::kKeys, 0);
  Matrix<float> queries = dump.read(0, DumpTensor::kQueries, 0);

  MatchedHead head(const quantizer::Method& method) const {
    return match_head(calibration, calibration.layers.front(), 0, matched_key_options(method),
                      {dump.tokens(), dump.tokens()});
  }
};

double square_error(const Matrix<float>& scores, const Fixture& f) {
  double error = 0;
  for (std::size_t q = 0; q < f.queries.rows(); ++q)
    for (std::size_t i = 0; i < f.keys.rows(); ++i) {
      double exact = 0;
      for (std::size_t j = 0; j < f.keys.cols(); ++j) exact += double{f.queries(q, j)} * double{f.keys(i, j)};
      error += (double{scores(q, i)} - exact) * (double{scores(q, i)} - exact);
    }
  return error / static_cast<double>(f.queries.rows() * f.keys.rows());
}

double cache_error(const Fixture& f, const std::string& text) {
  const quantizer::Method method = quantizer::parse_method(text);
  cache::MatchedKeyCache cache(matched_key_coder(method, f.head(method)), {}, 0);
  Workspace append_work(cache.append_workspace_bytes());
  cache.append(f.keys.view(), append_work);
  Matrix<float> scores(f.queries.rows(), f.keys.rows());
  Workspace work(cache.workspace_bytes(f.queries.rows()));
  cache.scores(f.queries.view(), 1, scores.view(), work);
  return square_error(scores, f);
}

/// Of matched_quantizer's decoded keys, in floats.
double quantizer_error(const Fixture& f, const std::string& text) {
  const quantizer::Method method = quantizer::parse_method(text);
  const auto quantizer = matched_stream(method, f.head(method), {}, 0);
  quantizer::TokenStream stream(*quantizer, f.keys.rows());
  Workspace work(quantizer->workspace_bytes());
  stream.append(f.keys.view(), work);
  stream.settle(work);
  Matrix<float> decoded(f.keys.rows(), f.keys.cols());
  stream.decode(0, decoded.view(), work);
  Matrix<float> scores(f.queries.rows(), f.keys.rows());
  for (std::size_t q = 0; q < scores.rows(); ++q)
    for (std::size_t i = 0; i < scores.cols(); ++i)
      for (std::size_t j = 0; j < decoded.cols(); ++j) scores(q, i) += f.queries(q, j) * decoded(i, j);
  return square_error(scores, f);
}

// The same map, mean, frame and widths under another rotation: the errors of a head differ by the rotations' luck
// alone. Over 20 seeds its standard deviation is 2 to 5 % of the mean here, so the quotient of two is within 1.35 by
// five of them. A lost mean or map, or a wrong frame, are factors of 2 and more.
TEST(MatchedKeyCoder, ErrsAsTheQuantizerOfTheSameMethod) {
  const Fixture f;
  for (const std::string text :
       {"turbo-mse:3,match=diag,align=256,calibration=self,sink=0", "eden:2,match=diag,calibration=self,sink=0",
        "turbo-mse:3,match=full,align=64,calibration=self,sink=0",
        "turbo-mse:3,match=diag,align=64,segments=4,calibration=self,sink=0",
        "turbo-mse:4,match=diag,centre=rotating,align=64,calibration=self,sink=0",
        "turbo-mse:4,match=none,centre=mean,calibration=self,sink=0"}) {
    const double cached = cache_error(f, text);
    const double decoded = quantizer_error(f, text);
    EXPECT_LT(cached, 1.35 * decoded) << text;
    EXPECT_GT(cached, decoded / 1.35) << text;
  }
}

TEST(MatchedKeyCoder, RefusesWhatHasNoScoresFromCodes) {
  const Fixture f;
  for (const std::string text :
       {"rabitq:3,match=diag,calibration=self", "turbo-mse:3,match=diag,align=pre,calibration=self"}) {
    const quantizer::Method method = quantizer::parse_method(text);
    EXPECT_THROW(matched_key_coder(method, f.head(method)), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace orthant::kv

#include "orthant/quantizer/streaming_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "golden_json.h"
#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "orthant/core/rng.h"
#include "orthant/quantizer/make_streaming.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kDim = 32;

Matrix<float> tokens(std::size_t n, std::size_t dim, std::uint64_t trial = 0) {
  Matrix<float> x(n, dim);
  RngStream rng(7, Domain::kData, trial);
  rng.fill_normal(std::span<float>(x.data(), n * dim));
  return x;
}

Matrix<float> matrix_of(const nlohmann::json& rows) {
  Matrix<float> m(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.cols(); ++j) m(i, j) = rows[i][j];
  }
  return m;
}

const Matrix<float>& calibration() {
  static const Matrix<float> x = tokens(200, kDim, 99);
  return x;
}

StreamContext context() {
  static const std::vector<float> bias(kDim, 3.0F);
  StreamContext c;
  c.vectors.largest_magnitude = 6.0F;
  c.rope.emplace(transform::RopeLayout::kHalf, kDim, 10000.0);
  c.first_position = 5;
  c.key_bias = bias;
  c.calibration = calibration().view();
  return c;
}

std::unique_ptr<StreamingQuantizer> make(std::string_view text, CacheSide side = CacheSide::kKeys,
                                         std::size_t dim = kDim) {
  return make_streaming(parse_method(text), side, dim, context());
}

/// The stream after all rows of x, and the same settled.
TokenStream stream_of(const StreamingQuantizer& q, MatrixView<const float> x, Workspace& work) {
  TokenStream stream(q, x.rows());
  stream.append(x, work);
  return stream;
}

Matrix<float> read(const TokenStream& stream, std::size_t dim, Workspace& work) {
  Matrix<float> y(stream.tokens(), dim);
  stream.decode(0, y.view(), work);
  return y;
}

struct Case {
  const char* method;
  CacheSide side;
};
constexpr Case kCases[] = {{"kivi:2,group=8,residual=16", CacheSide::kKeys},
                           {"kivi:2,group=8,residual=16", CacheSide::kValues},
                           {"kivi:4,group=16,residual=16,meta=f32,exact=f32", CacheSide::kKeys},
                           {"quanto:4,group=16,residual=9,prompt=20", CacheSide::kKeys},
                           {"qjl:64,outliers=4,outlier_group=8,residual=16", CacheSide::kKeys},
                           {"kvquant:3", CacheSide::kKeys},
                           {"kvquant:3,outliers=0.1,sink=4", CacheSide::kValues},
                           {"kvquant:2,rope=post,qnorm=1", CacheSide::kKeys},
                           {"kvquant:4,levels=nf", CacheSide::kKeys},
                           {"uniform:4,group=16", CacheSide::kKeys},
                           {"uniform:4,axis=channel,group=8", CacheSide::kKeys},
                           {"uniform:2,axis=channel,group=8,sink=3,residual=20", CacheSide::kKeys},
                           {"uniform:4,group=32,bias=before,exact=bf16", CacheSide::kKeys},
                           {"uniform:3,group=8,bias=after,sink=2,residual=7", CacheSide::kKeys},
                           {"turbo-mse:3,sink=4,residual=9", CacheSide::kValues},
                           {"turbo-mse:3,align=16", CacheSide::kKeys},
                           {"turbo-mse:3,align=pre", CacheSide::kKeys},
                           {"q4_0,residual=1", CacheSide::kValues},
                           {"q8_0,rotation=hadamard:3", CacheSide::kKeys},
                           {"nvfp4,sink=4", CacheSide::kKeys},
                           {"fp8:e4m3,scale=head", CacheSide::kValues},
                           {"f32", CacheSide::kKeys}};

TEST(FlushSchedule, KiviOfTheWorkedExamples) {
  const auto golden = golden_json("quantizer/kivi.json");
  for (const char* name : {"R4_prompt10", "R4_prompt3", "R4_prompt4"}) {
    const FlushSchedule keys = make("kivi:2,group=2,residual=4", CacheSide::kKeys)->schedule();
    const FlushSchedule values = make("kivi:2,group=2,residual=4", CacheSide::kValues)->schedule();
    for (const auto& row : golden[name]) {
      const std::size_t t = row["T"];
      EXPECT_EQ(keys.coded(t), row["Kq"]) << name << ' ' << t;
      EXPECT_EQ(t - keys.coded(t), row["Kr"]);
      EXPECT_EQ(values.coded(t), row["Vq"]);
      EXPECT_EQ(t - values.coded(t), row["Vr"]);
      if (row["event"] == "prompt") continue;
      EXPECT_EQ(t - keys.coded_when_read(t), row["read_exact_K"]);
      EXPECT_EQ(t - values.coded_when_read(t), row["read_exact_V"]);
      EXPECT_EQ(keys.coded(t) > keys.coded_when_read(t), row["key_flush"].get<bool>());
    }
  }
  const FlushSchedule keys = make("kivi:2", CacheSide::kKeys)->schedule();
  const FlushSchedule values = make("kivi:2", CacheSide::kValues)->schedule();
  for (const auto& [text, row] : golden["R128"].items()) {
    const std::size_t t = row["T"];
    EXPECT_EQ(keys.coded(t), row["Kq"]) << text;
    EXPECT_EQ(values.coded(t), row["Vq"]) << text;
  }
}

TEST(FlushSchedule, QuantoOfTheWorkedExample) {
  const FlushSchedule schedule = make("quanto:4,group=8,residual=4,prompt=6", CacheSide::kKeys)->schedule();
  std::size_t packed = 0;
  const auto golden = golden_json("quantizer/kivi.json");
  for (const auto& row : golden.at("hf_R4_prompt6")) {
    const std::size_t t = row["T"];
    EXPECT_EQ(schedule.coded(t), row["packed"]) << t;
    EXPECT_EQ(t - schedule.coded(t), row["exact"]) << t;
    EXPECT_EQ(row["event"] != "append", schedule.coded(t) > schedule.coded_when_read(t)) << t;
    packed = schedule.coded(t);
  }
  EXPECT_EQ(packed, 14U);
  for (const std::size_t t : {1U, 5U}) EXPECT_EQ(schedule.coded(t), 0U) << "a prompt is coded whole";
}

TEST(Quanto, RepackingEveryTokenEachTimeWouldChangeNothing) {
  // What the cache does: at each flush all tokens are decoded, joined with the exact ones and coded again. Where
  // minimum and step in binary16 are fine beside the step, the decoded extremes give the same two again.
  const Matrix<float> x = tokens(30, kDim);
  for (const char* text : {"quanto:2,group=16,residual=4,prompt=6", "quanto:4,group=32,residual=7,prompt=3",
                           "quanto:8,group=8,residual=5"}) {
    const Method method = parse_method(text);
    const auto q = make(text, CacheSide::kValues);
    Workspace work(q->workspace_bytes());
    TokenStream stream(*q, 30);
    Matrix<float> repacked = x;
    std::size_t coded = 0;
    for (std::size_t t = 1; t <= 30; ++t) {
      stream.append(x.view().middle_rows(t - 1, 1), work);
      stream.settle(work);
      q->round_exact(repacked.view().middle_rows(t - 1, 1), repacked.view().middle_rows(t - 1, 1));
      if (q->schedule().coded(t) == coded) continue;
      coded = q->schedule().coded(t);
      const auto all =
          make("uniform:" + method.text("bits") + ",group=" + method.text("group") + ",meta=" + method.text("meta"),
               CacheSide::kValues);
      Workspace all_work(all->workspace_bytes());
      const Matrix<float> decoded =
          read(stream_of(*all, repacked.view().middle_rows(0, coded), all_work), kDim, all_work);
      for (std::size_t i = 0; i < coded; ++i) std::ranges::copy(decoded.row(i), repacked.row(i).begin());
    }
    const Matrix<float> y = read(stream, kDim, work);
    for (std::size_t i = 0; i < 30 * kDim; ++i) ASSERT_EQ(y.data()[i], repacked.data()[i]) << text << ' ' << i / kDim;
  }
}

TEST(Kivi, NumbersOfTheWorkedExample) {
  const auto golden = golden_json("quantizer/kivi.json")["numbers"];
  for (const CacheSide side : {CacheSide::kKeys, CacheSide::kValues}) {
    const bool keys = side == CacheSide::kKeys;
    const auto q = make("kivi:2,group=2,residual=4,meta=f32,exact=f32", side, 2);
    Workspace work(q->workspace_bytes());
    const Matrix<float> x = matrix_of(golden[keys ? "K" : "V"]);
    TokenStream stream = stream_of(*q, x.view(), work);
    stream.settle(work);
    EXPECT_EQ(stream.coded_tokens(), keys ? 4U : 2U);
    const Matrix<float> y = read(stream, 2, work);
    for (std::size_t t = 0; t < x.rows(); ++t) {
      for (std::size_t c = 0; c < 2; ++c) {
        // Steps of 2/3 and 1/3 are rounded up to a float: 3 steps of at most 2^-24.
        EXPECT_NEAR(static_cast<double>(y(t, c)), golden[keys ? "K_read" : "V_read"][t][c].get<double>(), 1e-6);
      }
    }
    // Codes, as they lie in the bytes: keys channel after channel in groups of two tokens, values token after token.
    const std::vector<std::uint8_t> packed = stream.packed();
    if (keys) {
      for (std::size_t t = 0; t < 4; ++t) {
        for (std::size_t c = 0; c < 2; ++c) {
          const std::size_t block = t / 2 * 17;  // two channels of 8 metadata bytes, one byte of codes
          EXPECT_EQ(packed_code(std::span(packed).subspan(block + 16, 1), 2, 2 * c + t % 2),
                    golden["K_codes_first4"][t][c].get<double>());
        }
      }
    } else {
      for (std::size_t t = 0; t < 2; ++t) {
        for (std::size_t c = 0; c < 2; ++c) {
          EXPECT_EQ(packed_code(std::span(packed).subspan(t * 9 + 8, 1), 2, c),
                    golden["V_codes_first2"][t][c].get<double>());
        }
      }
    }
  }
}

TEST(Kivi, BytesAndErrorsWhenTokensComeOneByOne) {
  // 32 tokens at once, then 40 one by one, group 32, residual 32: a key group filled one token at a time is coded all
  // the same. 72 tokens of 128 channels in 16 bits would take 18432 bytes a side.
  const auto keys = make("kivi:2,group=32,residual=32", CacheSide::kKeys, 128);
  const auto values = make("kivi:2,group=32,residual=32", CacheSide::kValues, 128);
  const Matrix<float> x = tokens(72, 128);
  for (const auto* q : {keys.get(), values.get()}) {
    Workspace work(q->workspace_bytes());
    TokenStream stream(*q, 72);
    stream.append(x.view().middle_rows(0, 32), work);
    for (std::size_t t = 32; t < 72; ++t) {
      stream.append(x.view().middle_rows(t, 1), work);
      stream.settle(work);
    }
    const bool key = q == keys.get();
    EXPECT_EQ(stream.coded_tokens(), key ? 64U : 40U);
    EXPECT_EQ(stream.bytes(), (key ? StreamBytes{2048, 1024, 2048, 0} : StreamBytes{1280, 640, 8192, 0}));
    EXPECT_EQ(stream.bytes().total(), key ? 5120U : 10112U);
    const Matrix<float> y = read(stream, 128, work);
    for (std::size_t t = 0; t < stream.coded_tokens(); ++t) {
      double error = 0;
      for (std::size_t c = 0; c < 128; ++c) error += std::pow(static_cast<double>(y(t, c) - x(t, c)), 2);
      EXPECT_GT(error, 0) << t;
    }
  }
}

TEST(Kivi, ResidualBeyondTheTextIsExact) {
  const auto q = make("kivi:2,exact=f32", CacheSide::kKeys);
  Workspace work(q->workspace_bytes());
  const Matrix<float> x = tokens(127, kDim);
  TokenStream stream = stream_of(*q, x.view(), work);
  stream.settle(work);
  const Matrix<float> y = read(stream, kDim, work);
  EXPECT_TRUE(std::equal(x.data(), x.data() + 127 * kDim, y.data()));
  EXPECT_EQ(stream.bytes(), (StreamBytes{0, 0, 127 * kDim * 4, 0}));
}

TEST(TokenStream, ReadsWhatTheScheduleSays) {
  const Matrix<float> x = tokens(60, kDim);
  for (const Case& c : kCases) {
    const auto q = make(c.method, c.side);
    Workspace work(q->workspace_bytes());
    Matrix<float> exact(60, kDim);
    q->round_exact(x.view(), exact.view());
    TokenStream full = stream_of(*q, x.view(), work);
    full.settle(work);
    const Matrix<float> last = read(full, kDim, work);
    TokenStream stream(*q, 60);
    for (std::size_t n = 1; n <= 60; ++n) {
      stream.append(x.view().middle_rows(n - 1, 1), work);
      const Matrix<float> now = read(stream, kDim, work);
      for (std::size_t j = 0; j < n; ++j) {
        // Exact tokens are the rounded input; coded ones never change again.
        const std::span<const float> expected = q->schedule().exact_when_read(j, n) ? exact.row(j) : last.row(j);
        ASSERT_TRUE(std::ranges::equal(now.row(j), expected)) << c.method << " token " << j << " of " << n;
      }
    }
  }
}

TEST(TokenStream, RefusesBadValuesBeforeAnythingChanges) {
  for (const Case& c : kCases) {
    const auto q = make(c.method, c.side);
    Workspace work(q->workspace_bytes());
    TokenStream stream(*q, 20);
    stream.append(tokens(10, kDim).view(), work);
    const std::vector<std::uint8_t> before = stream.packed();
    Matrix<float> bad = tokens(5, kDim, 3);
    bad(3, 7) = NAN;
    EXPECT_THROW(stream.append(bad.view(), work), InvalidArgument) << c.method;
    EXPECT_EQ(stream.packed(), before) << c.method;
    EXPECT_THROW(stream.append(tokens(1, kDim + 1).view(), work), InvalidArgument);
    Matrix<float> y(11, kDim);
    EXPECT_THROW(stream.decode(0, y.view(), work), InvalidArgument);
    stream.append(Matrix<float>(3, kDim).view(), work);  // zero vectors are welcome
    const Matrix<float> z = read(stream, kDim, work);
    for (const float v : std::span(z.data(), z.rows() * kDim)) ASSERT_TRUE(std::isfinite(v)) << c.method;
  }
}

TEST(UniformChannels, WorkedExamplesPerChannel) {
  const auto golden = golden_json("quantizer/round_to.json");
  const Matrix<float> x = matrix_of(golden["input_tokens_by_channels"]);
  int checked = 0;
  for (const auto& c : golden["cases"]) {
    if (c["per"] != "channel") continue;
    const std::string text = "uniform:" + std::to_string(c["bits"].get<int>()) +
                             ",axis=channel,meta=f32,exact=f32,group=" + std::to_string(c["group"].get<int>());
    const auto q = make(text, CacheSide::kKeys, 4);
    Workspace work(q->workspace_bytes());
    const Matrix<float> y = read(stream_of(*q, x.view(), work), 4, work);
    double error = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t j = 0; j < 4; ++j) {
        EXPECT_NEAR(static_cast<double>(y(t, j)), c["output"][t][j].get<double>(), 0x1p-22 * 20) << text;
        error += static_cast<double>(std::fabs(y(t, j) - x(t, j))) / 16;
      }
    }
    EXPECT_NEAR(error, c["mean_abs_error"].get<double>(), 1e-6) << text;
    ++checked;
  }
  EXPECT_EQ(checked, 3);
}

TEST(UniformChannels, ConstantChannelsAreExact) {
  Matrix<float> x(32, 4);
  for (std::size_t t = 0; t < 32; ++t) {
    x(t, 1) = 100;
    x(t, 2) = -3.5F;
    x(t, 3) = static_cast<float>(t);
  }
  for (const char* text :
       {"uniform:2,axis=channel,group=32", "uniform:4,axis=channel,group=32", "uniform:8,axis=channel,group=16"}) {
    const auto q = make(text, CacheSide::kKeys, 4);
    Workspace work(q->workspace_bytes());
    const Matrix<float> y = read(stream_of(*q, x.view(), work), 4, work);
    for (std::size_t t = 0; t < 32; ++t) {
      for (const std::size_t c : {0U, 1U, 2U}) EXPECT_EQ(y(t, c), x(t, c)) << text;
      EXPECT_TRUE(std::isfinite(y(t, 3)));
    }
  }
}

TEST(UniformChannels, CureTheConstantChannelThatRuinsTokens) {
  // 130 in channel 0 beside waves of 0.4: centred error of the waves, to the digits published with the input.
  Matrix<float> x(128, 64);
  std::vector<double> mean(64, 0.0);
  for (std::size_t t = 0; t < 128; ++t) {
    for (std::size_t c = 0; c < 64; ++c) {
      x(t, c) =
          c == 0 ? 130.0F : static_cast<float>(0.4 * std::sin(0.37 * static_cast<double>(t) + static_cast<double>(c)));
      mean[c] += static_cast<double>(x(t, c)) / 128;
    }
  }
  for (const auto& [text, expected] : {std::pair{"uniform:4,axis=channel,group=32,meta=f32,exact=f32", 0.00260001},
                                       {"uniform:2,axis=channel,group=32,meta=f32,exact=f32", 0.0598358}}) {
    const auto q = make(text, CacheSide::kKeys, 64);
    Workspace work(q->workspace_bytes());
    const Matrix<float> y = read(stream_of(*q, x.view(), work), 64, work);
    double error = 0;
    double square = 0;
    for (std::size_t t = 0; t < 128; ++t) {
      EXPECT_EQ(y(t, 0), 130.0F);
      for (std::size_t c = 1; c < 64; ++c) {
        error += std::pow(static_cast<double>(y(t, c)) - static_cast<double>(x(t, c)), 2);
        square += std::pow(static_cast<double>(x(t, c)) - mean[c], 2);
      }
    }
    EXPECT_NEAR(error / square, expected, 2e-5 * expected) << text;
  }
}

TEST(KeyBias, BeforeAndAfterTheRotaryEmbedding) {
  const auto golden = golden_json("quantizer/bias.json");
  const Matrix<float> keys = matrix_of(golden["keys_after_rotation"]);
  const std::vector<float> bias = golden["bias"];
  const struct {
    const char* option;
    transform::RopeLayout layout;
    const char* rms;
    const char* rows;
  } cases[] = {{"", transform::RopeLayout::kHalf, "rms_plain", "plain"},
               {",bias=before", transform::RopeLayout::kHalf, "rms_before", "before_rotation"},
               {",bias=after", transform::RopeLayout::kHalf, "rms_after", "after_rotation"},
               // Subtracting the bias without turning it: worse than doing nothing.
               {",bias=after", transform::RopeLayout::kNone, "rms_wrong_unrotated_bias", nullptr}};
  for (const int bits : {8, 4, 2}) {
    const auto& expected = golden["bits_" + std::to_string(bits)];
    for (const auto& c : cases) {
      StreamContext with_bias;
      with_bias.rope.emplace(c.layout, 4, 16.0);  // the example's frequencies are 1 and 1/4
      with_bias.key_bias = bias;
      const std::string text = "uniform:" + std::to_string(bits) + ",group=4,meta=f32,exact=f32" + c.option;
      const auto q = make_streaming(parse_method(text), CacheSide::kKeys, 4, with_bias);
      Workspace work(q->workspace_bytes());
      const Matrix<float> y = read(stream_of(*q, keys.view(), work), 4, work);
      double square = 0;
      for (std::size_t t = 0; t < 4; ++t) {
        for (std::size_t j = 0; j < 4; ++j) {
          square += std::pow(static_cast<double>(y(t, j)) - static_cast<double>(keys(t, j)), 2);
          // Keys near 120 in float: turning and centring leave a few ulp of 120, 8e-6 each.
          if (c.rows != nullptr) {
            EXPECT_NEAR(static_cast<double>(y(t, j)), expected[c.rows][t][j].get<double>(), 6e-5) << text;
          }
        }
      }
      EXPECT_NEAR(std::sqrt(square / 16), expected[c.rms].get<double>(), 6e-5) << text;
    }
  }
}

TEST(MixedRead, WindowAndOutputOfTheWorkedExample) {
  const auto golden = golden_json("quantizer/bias.json");
  for (const std::size_t r : {0U, 1U, 2U}) {
    const FlushSchedule schedule{0, r, 1, true};
    const auto& near = golden["near_R" + std::to_string(r)];
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j <= i; ++j) EXPECT_EQ(schedule.exact_when_read(j, i + 1), near[i][j].get<bool>()) << r;
    }
  }
  const auto& mixed = golden["mixed_read"];
  const Matrix<float> keys = matrix_of(golden["keys_after_rotation"]);
  const Matrix<float> values = matrix_of(mixed["V"]);
  const auto kq = make("uniform:4,group=4,meta=f32,exact=f32,residual=2", CacheSide::kKeys, 4);
  const auto vq = make("uniform:1,group=3,meta=f32,exact=f32,residual=2", CacheSide::kValues, 3);
  Workspace work(kq->workspace_bytes() + vq->workspace_bytes());
  const Matrix<float> k = read(stream_of(*kq, keys.view(), work), 4, work);
  const Matrix<float> v = read(stream_of(*vq, values.view(), work), 3, work);
  std::vector<double> weights(4);
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    double score = 0;
    for (std::size_t c = 0; c < 4; ++c) score += mixed["q"][c].get<double>() * static_cast<double>(k(j, c)) / 2;
    EXPECT_NEAR(score, mixed["scores"][j].get<double>(), 1e-5);
    sum += weights[j] = std::exp(score);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    double output = 0;
    for (std::size_t j = 0; j < 4; ++j) output += weights[j] / sum * static_cast<double>(v(j, c));
    EXPECT_NEAR(output, mixed["output"][c].get<double>(), 1e-5);
  }
}

TEST(KeyBias, InterleavedPairsTurnTheirOwnBias) {
  // Keys that are the turned bias alone are coded without error in their own layout, and only there.
  const transform::Rope half(transform::RopeLayout::kHalf, 8, 10000.0);
  const transform::Rope interleaved(transform::RopeLayout::kInterleaved, 8, 10000.0);
  const std::vector<float> bias = {120, -4, 0.5F, 30, 2, -60, 7, 1};
  for (const auto* truth : {&half, &interleaved}) {
    Matrix<float> keys(16, 8);
    for (std::size_t t = 0; t < 16; ++t) {
      truth->turn({bias.data(), 1, 8}, static_cast<double>(t + 5), keys.view().middle_rows(t, 1));
    }
    for (const auto* assumed : {&half, &interleaved}) {
      for (const char* text : {"uniform:4,group=8,bias=after,meta=f32,exact=f32",
                               "uniform:4,group=8,bias=before,meta=f32,exact=f32,sink=2,residual=3",
                               "uniform:4,axis=channel,group=4,bias=after,meta=f32,exact=f32,sink=3"}) {
        StreamContext with_bias;
        with_bias.rope = *assumed;
        with_bias.first_position = 5;
        with_bias.key_bias = bias;
        const auto q = make_streaming(parse_method(text), CacheSide::kKeys, 8, with_bias);
        Workspace work(q->workspace_bytes());
        const Matrix<float> y = read(stream_of(*q, keys.view(), work), 8, work);
        double worst = 0;
        for (std::size_t i = 0; i < 16 * 8; ++i) {
          worst = std::max(worst, static_cast<double>(std::fabs(y.data()[i] - keys.data()[i])));
        }
        if (assumed == truth) {
          EXPECT_LT(worst, 1e-4) << text;
        } else {
          EXPECT_GT(worst, 1.0) << text;
        }
      }
    }
  }
}

TEST(MakeStreaming, AScaleOfTheKeysAsCachedHoldsTurnedOnes) {
  // Every channel at 6, the largest magnitude given: turned back, one channel of a pair reaches 8.5. A scale made for 6
  // would clip it. E4M3 errs by 2^-4 of a value, the bias by as much of itself.
  Matrix<float> x(40, kDim);
  for (std::size_t i = 0; i < 40 * kDim; ++i) x.data()[i] = 6;
  for (const char* text : {"fp8:e4m3,scale=head,align=pre", "fp8:e4m3,scale=tensor,align=16",
                           "fp8:e4m3,scale=head,bias=before", "fp8:e4m3,scale=head,bias=after"}) {
    const auto q = make(text);
    Workspace work(q->workspace_bytes());
    const Matrix<float> y = read(stream_of(*q, x.view(), work), kDim, work);
    for (std::size_t i = 0; i < 40 * kDim; ++i) ASSERT_NEAR(y.data()[i], 6, 0x1p-4 * 8.5 * 1.5) << text << ' ' << i;
  }
}

TEST(MakeStreaming, RefusesWhatItCannotMake) {
  for (const auto& [text, side] : {std::pair{"kivi:2,group=32,residual=100", CacheSide::kKeys},
                                   {"kivi:2,group=24", CacheSide::kValues},
                                   {"window:64", CacheSide::kKeys},
                                   {"uniform:4,group=8,bias=after", CacheSide::kValues},
                                   {"uniform:4,group=8,bias=after,align=pre", CacheSide::kKeys},
                                   {"q8_0,match=diag", CacheSide::kKeys},
                                   {"uniform:4,axis=channel,rotation=haar", CacheSide::kKeys},
                                   {"q8_0,centre=mean", CacheSide::kKeys}}) {
    EXPECT_THROW(make(text, side), InvalidArgument) << text;
  }
  for (const char* text : {"kvquant:3", "uniform:4,group=8,bias=before", "q8_0,align=64", "nvfp4"}) {
    EXPECT_THROW(make_streaming(parse_method(text), CacheSide::kKeys, kDim), InvalidArgument) << text;
  }
}

TEST(Kvquant, BytesFollowTheOutliersThereAre) {
  const auto q = make("kvquant:3,outliers=0.05,sink=0", CacheSide::kKeys);
  Workspace work(q->workspace_bytes());
  const Matrix<float> x = tokens(500, kDim, 4);
  const TokenStream stream = stream_of(*q, x.view(), work);
  const StreamBytes bytes = stream.bytes();
  EXPECT_EQ(bytes.payload, 500U * 12);
  EXPECT_EQ(bytes.shared, 4U * (4 * kDim + 8));
  // Outliers are 4 bytes each, row pointers 4 bytes a token. 16000 normal values against thresholds at the 2.5 % tails
  // of 199 calibration values a channel: SE^2 = .05 .95 / 16000 + 2 (.025 .975 / 199) / 32 = (.0034)^2, and 2 / 200 of
  // bias at most from the interpolated quantile: 4 SE + .008.
  const double share = static_cast<double>(bytes.metadata - 4 * 500) / 4 / (500 * kDim);
  EXPECT_NEAR(share, 0.05, 0.022);
}

}  // namespace
}  // namespace orthant::quantizer

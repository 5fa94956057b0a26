#include "orthant/quantizer/make_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

/// Every quantizer of single vectors, with and without a rotation before it where that is an option.
const char* const kRowMethods[] = {"turbo-mse:4",
                                   "turbo-mse:3,rotation=hadamard:3",
                                   "turbo-mse:1,norm=f32,rotation=none",
                                   "eden:2",
                                   "eden:4,scale=matched",
                                   "eden:5,scale=mse,rotation=kac:3",
                                   "turbo-prod:1",
                                   "turbo-prod:4",
                                   "turbo-prod:3,sketch=orthogonal,gamma=constant",
                                   "turbo-prod:8,sketch=hadamard,norm=f32,rotation=hadamard:3",
                                   "qjl:256",
                                   "qjl:100,sketch=orthogonal,norm=f32",
                                   "rabitq:1",
                                   "rabitq:4",
                                   "rabitq:8,bounds=1,norm=f32,rotation=hadamard:3",
                                   "rabitq:3,search=fast,bounds=1",
                                   "rabitq:5,scale=mse",
                                   "polar:4",
                                   "polar:6,norm=f32,rotation=hadamard:3",
                                   "split:3+2,channels=16",
                                   "uniform:4",
                                   "uniform:2,group=16",
                                   "uniform:3,group=32,sym=1,meta=f32",
                                   "uniform:8,meta=bf16",
                                   "uniform:4,rotation=haar",
                                   "fp8:e4m3",
                                   "fp8:e5m2,scale=token",
                                   "fp8:e4m3fnuz,scale=head",
                                   "fp8:e4m3,scale=tensor,saturate=0",
                                   "fp8:e4m3,rotation=hadamard:3",
                                   "nvfp4",
                                   "nvfp4,scale=token",
                                   "nvfp4,scale=head,rotation=hadamard:2",
                                   "nvfp4,scale=none",
                                   "mxfp4",
                                   "mxfp4,rotation=block-hadamard:32",
                                   "q8_0",
                                   "q5_1",
                                   "q5_0",
                                   "q4_1",
                                   "q4_0",
                                   "q4_0,rotation=hadamard",
                                   "iq4_nl",
                                   "iq4_nl,rotation=kac:2",
                                   "bf16",
                                   "f16",
                                   "f32",
                                   "f32,rotation=fht-kac"};

const QuantizerContext kContext = {.seed = 3,
                                   .index = 0,
                                   .largest_magnitude = 8.0F,
                                   .outlier_channels = {0, 1, 2, 3, 8, 9, 10, 11, 20, 21, 22, 23, 40, 41, 62, 63}};

std::unique_ptr<VectorQuantizer> make(std::string_view text, std::size_t dim) {
  return make_quantizer(parse_method(text), dim, kContext);
}

TEST(MakeQuantizer, DescribesItselfByTheMethodThatMadeIt) {
  for (const char* text : kRowMethods) {
    EXPECT_EQ(make(text, 64)->describe(), text);
    EXPECT_EQ(parse_method(make(text, 64)->describe()), parse_method(text)) << text;
  }
}

TEST(MakeQuantizer, PayloadIsTheCodesAndTheRestIsMetadata) {
  for (const char* text : kRowMethods) {
    const Method method = parse_method(text);
    const auto quantizer = make(text, 96 * 2);
    const std::size_t payload = quantizer->bytes_per_vector() - quantizer->metadata_bytes();
    const std::string family(method.family());
    if (family == "split") {
      EXPECT_EQ(payload * 8, 3U * 16 + 2U * 176);
      continue;
    }
    if (family == "polar") {  // a half of the coordinates at b bits, 7/16 at b - 2
      EXPECT_EQ(payload * 8, static_cast<std::size_t>(method.integer("bits")) * 96 +
                                 static_cast<std::size_t>(method.integer("bits") - 2) * 84);
      continue;
    }
    if (family == "qjl") {
      EXPECT_EQ(payload, (static_cast<std::size_t>(method.integer("rows")) + 7) / 8);
      continue;
    }
    const int bits = method.has("bits")                    ? static_cast<int>(method.integer("bits"))
                     : family == "fp8" || family == "q8_0" ? 8
                     : family.starts_with("q5")            ? 5
                     : family == "f32"                     ? 32
                     : family == "f16" || family == "bf16" ? 16
                                                           : 4;
    EXPECT_EQ(payload * 8, static_cast<std::size_t>(bits) * 192) << text;
  }
}

TEST(MakeQuantizer, EstimateIsTheInnerProductWithTheDecodedVector) {
  // d products in float of either side: |difference| <= 2 d eps |q| |x_hat|, and a rotation adds as much.
  for (const char* text : kRowMethods) {
    const auto quantizer = make(text, 64);
    const std::vector<float> x = normal_vector(64, 1);
    const std::vector<float> q = normal_vector(64, 2);
    const auto packed = encode_one(*quantizer, x);
    const std::vector<float> y = decode_one(*quantizer, packed);
    double product = 0;
    double qq = 0;
    double yy = 0;
    for (std::size_t j = 0; j < 64; ++j) {
      product += static_cast<double>(q[j]) * static_cast<double>(y[j]);
      qq += static_cast<double>(q[j]) * static_cast<double>(q[j]);
      yy += static_cast<double>(y[j]) * static_cast<double>(y[j]);
    }
    EXPECT_NEAR(static_cast<double>(estimate_one(*quantizer, q, packed)), product,
                4 * 64 * 0x1p-24 * std::sqrt(qq * yy))
        << text;
  }
}

TEST(MakeQuantizer, RotationSpreadsAnOutlierChannel) {
  // One channel of 20 beside unit noise: blocks of q4_0 lose the noise, rotated blocks do not.
  const auto plain = make("q4_0", 64);
  const auto rotated = make("q4_0,rotation=hadamard:3", 64);
  double plain_error = 0;
  double rotated_error = 0;
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<float> x = normal_vector(64, trial);
    x[9] = 20;
    const std::vector<float> y = round_trip(*plain, x);
    const std::vector<float> z = round_trip(*rotated, x);
    for (std::size_t j = 0; j < 64; ++j) {
      plain_error += std::pow(static_cast<double>(y[j] - x[j]), 2);
      rotated_error += std::pow(static_cast<double>(z[j] - x[j]), 2);
    }
  }
  EXPECT_LT(rotated_error, 0.5 * plain_error);
}

TEST(MakeQuantizer, RefusesWhatItCannotMake) {
  for (const char* text :
       {"kivi:2", "kvquant:3", "window:64", "uniform:4,axis=channel", "uniform:4,sink=4", "q4_0,residual=128",
        "q8_0,match=diag", "q8_0,bias=after", "q8_0,centre=mean", "uniform:4,group=48", "uniform:1,sym=1"}) {
    EXPECT_THROW(make(text, 64), InvalidArgument) << text;
  }
  EXPECT_THROW(make("q4_0", 80), InvalidArgument);
  EXPECT_THROW(make_quantizer(parse_method("nvfp4"), 64), InvalidArgument);
  EXPECT_THROW(make_quantizer(parse_method("fp8:e4m3,scale=head"), 64), InvalidArgument);
  EXPECT_NO_THROW(make_quantizer(parse_method("fp8:e4m3"), 64));
}

}  // namespace
}  // namespace orthant::quantizer

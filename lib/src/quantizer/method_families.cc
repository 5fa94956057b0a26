#include <initializer_list>

#include "orthant/quantizer/method.h"

namespace orthant::quantizer {
namespace {

using Rules = std::vector<ValueRule>;

constexpr double kMostDims = 1e6;
constexpr ValueRule kBits = {"bits", "N", "", 1, 8};
constexpr ValueRule kMeta = {"meta", "f16|bf16|f32", "f16"};
constexpr ValueRule kExact = {"exact", "f16|bf16|f32", "f16"};
constexpr ValueRule kNorm = {"norm", "f16|f32", "f16"};

/// A map before the codes, its calibration, and tokens that stay exact: options of every quantizer of single vectors.
Rules before_and_around(std::string_view rotation) {
  return {{"rotation", "haar|hadamard:N|kac:N|fht-kac|block-hadamard:N|hadamard|none", rotation, 1, 4096},
          {"match", "none|diag|full", "none"},
          {"segments", "N", "1", 1, 64},
          {"centre", "auto|none|mean|rotating", "auto"},
          {"align", "none|pre|N", "none", 1, kMostDims},
          {"calibration", "none|self|FILE", "none"},
          {"bias", "none|before|after", "none"},
          {"sink", "N", "0"},
          {"residual", "N", "0"},
          kExact};
}

Rules joined(std::initializer_list<Rules> parts) {
  Rules all;
  for (const Rules& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Rules rotated(Rules own) { return joined({own, before_and_around("haar")}); }
Rules plain(Rules own) { return joined({own, before_and_around("none")}); }

FamilyRule format(std::string_view name, std::string_view summary) { return {name, summary, plain({}), false}; }

std::vector<FamilyRule> all_families() {
  return {
      {"turbo-mse", "norm and nearest centroids of the rotated unit vector", rotated({{"bits", "N", "", 0, 8}, kNorm})},
      {"turbo-prod", "turbo-mse with one bit less, and a one-bit sketch of the residual",
       rotated({kBits,
                {"sketch", "gaussian|orthogonal|hadamard", "gaussian"},
                {"gamma", "stored|constant", "stored"},
                kNorm})},
      {"eden", "centroid codes with a scale of its own for each vector",
       rotated({kBits, {"scale", "unbiased|mse|matched", "unbiased"}, kNorm})},
      {"qjl", "signs of N random projections and the norm",
       joined({{{"rows", "N", "", 1, kMostDims},
                {"sketch", "gaussian|orthogonal|hadamard", "gaussian"},
                {"outliers", "N", "0", 0, kMostDims},
                {"outlier_rows", "N", "256", 1, kMostDims},
                {"outlier_group", "N", "32", 1, kMostDims},
                kNorm},
               before_and_around("none")})},
      {"rabitq", "grid codes of the rotated unit vector with the factors of an unbiased estimate",
       rotated({kBits,
                {"search", "exact|fast", "exact"},
                {"bounds", "0|1", "0"},
                {"scale", "unbiased|mse", "unbiased"},
                kNorm})},
      {"polar", "angles of recursive polar coordinates", rotated({kBits, kNorm})},
      {"split", "outlier channels at more bits than the rest: bits + bits",
       rotated({{"bits", "N+N", "", 0, 8}, {"channels", "N", "32", 1, kMostDims}, kNorm})},
      {"uniform", "equal steps between the extremes of a group",
       plain({kBits,
              {"axis", "token|channel", "token"},
              {"group", "N", "64", 1, kMostDims},
              {"sym", "0|1", "0"},
              kMeta})},
      {"kivi",
       "keys per channel, values per token, recent tokens exact",
       {{"bits", "N", "", 1, 8},
        {"group", "N", "32", 1, kMostDims},
        {"residual", "N", "128", 1, kMostDims},
        kMeta,
        kExact}},
      {"quanto",
       "transformers' quantized cache: the prompt coded whole, then residual tokens at a time",
       {{"bits", "N", "", 1, 8},
        {"group", "N", "64", 1, kMostDims},
        {"residual", "N", "128", 1, kMostDims},
        {"prompt", "N", "0"},
        kMeta,
        kExact}},
      {"kvquant",
       "optimal levels of calibrated channels, outliers exact",
       {kBits,
        {"outliers", "X", "0.01", 0, 0.5},
        {"sink", "N", "1"},
        {"rope", "pre|post", "pre"},
        {"qnorm", "0|1", "0"},
        {"levels", "fitted|nf", "fitted"},
        {"calibration", "self", "self"},
        kExact}},
      {"fp8", "eight-bit floats",
       plain({{"format", "e4m3|e5m2|e4m3fnuz", ""},
              {"scale", "none|tensor|head|token", "none"},
              {"saturate", "0|1", "1"}})},
      {"nvfp4", "four-bit floats in blocks of 16 with eight-bit float scales",
       plain({{"scale", "none|tensor|head|token", "tensor"}}), false},
      format("mxfp4", "four-bit floats in blocks of 32 with power-of-two scales"),
      format("q8_0", "ggml: blocks of 32, eight bits"),
      format("q5_1", "ggml: blocks of 32, five bits and a minimum"),
      format("q5_0", "ggml: blocks of 32, five bits"),
      format("q4_1", "ggml: blocks of 32, four bits and a minimum"),
      format("q4_0", "ggml: blocks of 32, four bits"),
      format("iq4_nl", "ggml: blocks of 32, sixteen uneven levels"),
      format("bf16", "bfloat16"),
      format("f16", "IEEE binary16"),
      format("f32", "IEEE binary32: exact"),
  };
}

}  // namespace

std::span<const FamilyRule> method_families() {
  static const std::vector<FamilyRule> families = all_families();
  return families;
}

}  // namespace orthant::quantizer

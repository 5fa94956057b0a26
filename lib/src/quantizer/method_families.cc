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

FamilyRule format(std::string_view name, std::string_view summary) {
  return {name, MethodRole::kQuantizer, summary, plain({}), false};
}

std::vector<FamilyRule> all_families() {
  constexpr auto kQuantizer = MethodRole::kQuantizer;
  constexpr auto kEviction = MethodRole::kEviction;
  constexpr ValueRule kPool = {"pool", "none|avg:N|max:N", "avg:5", 1, 1e4};
  constexpr ValueRule kHeads = {"heads", "mean|max|sum", "mean"};
  return {
      {"turbo-mse", kQuantizer, "norm and nearest centroids of the rotated unit vector",
       rotated({{"bits", "N", "", 0, 8}, kNorm})},
      {"turbo-prod", kQuantizer, "turbo-mse with one bit less, and a one-bit sketch of the residual",
       rotated({kBits,
                {"sketch", "gaussian|orthogonal|hadamard", "gaussian"},
                {"gamma", "stored|constant", "stored"},
                kNorm})},
      {"eden", kQuantizer, "centroid codes with a scale of its own for each vector",
       rotated({kBits, {"scale", "unbiased|mse|matched", "unbiased"}, kNorm})},
      {"qjl", kQuantizer, "signs of N random projections and the norm",
       joined({{{"rows", "N", "", 1, kMostDims},
                {"sketch", "gaussian|orthogonal|hadamard", "gaussian"},
                {"outliers", "N", "0", 0, kMostDims},
                {"outlier_rows", "N", "256", 1, kMostDims},
                {"outlier_group", "N", "32", 1, kMostDims},
                kNorm},
               before_and_around("none")})},
      {"rabitq", kQuantizer, "grid codes of the rotated unit vector with the factors of an unbiased estimate",
       rotated({kBits,
                {"search", "exact|fast", "exact"},
                {"bounds", "0|1", "0"},
                {"scale", "unbiased|mse", "unbiased"},
                kNorm})},
      {"polar", kQuantizer, "angles of recursive polar coordinates", rotated({kBits, kNorm})},
      {"split", kQuantizer, "outlier channels at more bits than the rest: bits + bits",
       rotated({{"bits", "N+N", "", 0, 8}, {"channels", "N", "32", 1, kMostDims}, kNorm})},
      {"uniform", kQuantizer, "equal steps between the extremes of a group",
       plain({kBits,
              {"axis", "token|channel", "token"},
              {"group", "N", "64", 1, kMostDims},
              {"sym", "0|1", "0"},
              kMeta})},
      {"kivi",
       kQuantizer,
       "keys per channel, values per token, recent tokens exact",
       {{"bits", "N", "", 1, 8},
        {"group", "N", "32", 1, kMostDims},
        {"residual", "N", "128", 1, kMostDims},
        kMeta,
        kExact}},
      {"quanto",
       kQuantizer,
       "transformers' quantized cache: the prompt coded whole, then residual tokens at a time",
       {{"bits", "N", "", 1, 8},
        {"group", "N", "64", 1, kMostDims},
        {"residual", "N", "128", 1, kMostDims},
        {"prompt", "N", "0"},
        kMeta,
        kExact}},
      {"kvquant",
       kQuantizer,
       "optimal levels of calibrated channels, outliers exact",
       {kBits,
        {"outliers", "X", "0.01", 0, 0.5},
        {"sink", "N", "1"},
        {"rope", "pre|post", "pre"},
        {"qnorm", "0|1", "0"},
        {"levels", "fitted|nf", "fitted"},
        {"calibration", "self", "self"},
        kExact}},
      {"fp8", kQuantizer, "eight-bit floats",
       plain({{"format", "e4m3|e5m2|e4m3fnuz", ""},
              {"scale", "none|tensor|head|token", "none"},
              {"saturate", "0|1", "1"}})},
      {"nvfp4", kQuantizer, "four-bit floats in blocks of 16 with eight-bit float scales",
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
      {"window", kEviction, "the last N tokens", {{"tokens", "N", "", 1}}},
      {"sinks", kEviction, "the first N and the last N tokens", {{"tokens", "N+N", ""}}},
      {"h2o",
       kEviction,
       "N tokens of most accumulated attention and the last N",
       {{"tokens", "N+N", ""}, {"variant", "greedy|masked|ring", "greedy"}, kHeads}},
      {"scissorhands",
       kEviction,
       "tokens of persistent attention",
       {{"tokens", "N", "", 1}, {"history", "N", "400", 1}, {"recent", "N", "10"}, {"drop", "half|N", "half", 1}}},
      {"snapkv",
       kEviction,
       "N tokens chosen once by the attention of the last ones",
       {{"tokens", "N", "", 1}, {"window", "N", "32", 1}, kPool, kHeads}},
      {"pyramidkv",
       kEviction,
       "SnapKV with more tokens in the lower layers",
       {{"tokens", "N", "", 1},
        {"beta", "N", "20", 1},
        {"window", "N", "8", 1},
        {"budget", "exact|official", "exact"},
        kPool,
        kHeads}},
      {"topk", kEviction, "each query reads the N keys of largest score", {{"tokens", "N", "", 1}}},
  };
}

}  // namespace

std::span<const FamilyRule> method_families() {
  static const std::vector<FamilyRule> families = all_families();
  return families;
}

}  // namespace orthant::quantizer

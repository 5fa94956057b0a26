#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kv/metadata.h"
#include "orthant/core/error.h"
#include "orthant/kv/calibration.h"

namespace orthant::kv {
namespace {

using transform::RopeLayout;
using transform::SecondMoments;

constexpr const char* kFormat = "orthant-calibration-1";

using Member = SecondMoments HeadMoments::*;

std::string tensor_name(int layer, const char* side, const char* part) {
  return fmt::format("layers.{}.{}.{}", layer, side, part);
}

std::vector<float> floats_of(const CalibratedLayer& layer, Member side, bool means) {
  std::vector<float> values;
  for (const HeadMoments& head : layer.heads) {
    const SecondMoments& moments = head.*side;
    const Matrix<double> covariance = means ? Matrix<double>() : moments.covariance();
    const std::span<const double> from =
        means ? moments.mean() : std::span<const double>(covariance.data(), covariance.rows() * covariance.cols());
    for (const double value : from) values.push_back(static_cast<float>(value));
  }
  return values;
}

/// The part of one head in a tensor of [heads, ...], `shape` being the whole one.
std::vector<double> read_head(const Safetensors& file, const std::string& name, const std::vector<std::size_t>& shape,
                              std::size_t head) {
  const TensorInfo* tensor = file.find(name);
  if (tensor == nullptr) throw_invalid_input(file.name(), "tensor " + name, "nothing", "a tensor");
  if (tensor->shape != shape)
    throw_invalid_input(file.name(), "shape of " + name, fmt::format("{}", fmt::join(tensor->shape, " x ")),
                        fmt::format("{}", fmt::join(shape, " x ")));
  std::vector<float> floats(tensor->elements / shape.front());
  file.read_floats(*tensor, head * floats.size(), floats);
  for (std::size_t i = 0; i < floats.size(); ++i)
    if (!std::isfinite(floats[i]))
      throw_invalid_input(file.name(), fmt::format("{}, head {}, element {}", name, head, i), std::to_string(floats[i]),
                          "a finite number");
  return {floats.begin(), floats.end()};
}

SecondMoments moments_of_head(const Safetensors& file, int layer, const char* side, std::size_t head, std::size_t heads,
                              std::size_t d, std::uint64_t count) {
  std::vector<double> mean = read_head(file, tensor_name(layer, side, "mean"), {heads, d}, head);
  const std::string name = tensor_name(layer, side, "covariance");
  const std::vector<double> values = read_head(file, name, {heads, d, d}, head);
  const MatrixView<const double> covariance(values.data(), d, d);
  for (std::size_t j = 0; j < d; ++j)
    if (covariance(j, j) < 0)
      throw_invalid_input(file.name(), fmt::format("{}, head {}, variance {}", name, head, j),
                          std::to_string(covariance(j, j)), "not negative");
  // What no moments can violate, up to the rounding of each to a float.
  constexpr double kRoundings = 1 + 4 * 0x1p-24;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const double most = std::sqrt(covariance(i, i) * covariance(j, j)) * kRoundings;
      const double asymmetry = std::abs(covariance(i, j) - covariance(j, i));
      if (std::abs(covariance(i, j)) <= most && asymmetry <= 1e-5 * most) continue;
      throw_invalid_input(file.name(), fmt::format("{}, head {}, entry ({}, {})", name, head, i, j),
                          std::to_string(covariance(i, j)),
                          fmt::format("that of ({}, {}), at most {} in magnitude", j, i, most));
    }
  return {count, std::move(mean), covariance};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void write_calibration(const std::filesystem::path& path, const Calibration& calibration) {
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"model", calibration.model},
                                                 {"rope_layout", transform::name(calibration.rope_layout)},
                                                 {"head_dim", std::to_string(calibration.head_dim)},
                                                 {"shrinkage", fmt::format("{}", calibration.shrinkage)},
                                                 {"skipped", std::to_string(calibration.skipped)},
                                                 {"sources", fmt::format("{}", fmt::join(calibration.sources, "\n"))}};
  const auto append = [&](const char* key, const std::string& text) {
    std::string& list = metadata[key];
    list += (list.empty() ? "" : ",") + text;
  };
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TensorData> tensors;
  bytes.reserve(4 * calibration.layers.size());
  for (const CalibratedLayer& layer : calibration.layers) {
    append("layers", std::to_string(layer.index));
    append("rope_theta", fmt::format("{}", layer.rope_theta));
    append("key_tokens", std::to_string(layer.heads.front().keys.count()));
    append("query_rows", std::to_string(layer.heads.front().queries.count()));
    const std::size_t heads = layer.heads.size();
    const std::size_t d = calibration.head_dim;
    for (const auto& [side, member] : {std::pair<const char*, Member>{"keys", &HeadMoments::keys},
                                       std::pair<const char*, Member>{"queries", &HeadMoments::queries}})
      for (const bool means : {true, false}) {
        bytes.push_back(float_tensor_bytes(floats_of(layer, member, means), TensorType::kF32));
        const std::vector<std::size_t> shape = means ? std::vector{heads, d} : std::vector{heads, d, d};
        tensors.push_back(
            {tensor_name(layer.index, side, means ? "mean" : "covariance"), TensorType::kF32, shape, bytes.back()});
      }
  }
  write_safetensors(path, metadata, tensors);
}

Calibration read_calibration(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::open(path);
  const Metadata metadata(file);
  if (metadata.text("format") != kFormat)
    metadata.refuse("format", "'" + metadata.text("format") + "'", std::string("'") + kFormat + "'");
  constexpr std::string_view kCount = "an integer from 0 on";
  Calibration result;
  result.model = metadata.text("model");
  result.rope_layout = metadata.rope_layout();
  result.head_dim = metadata.number<std::size_t>("head_dim", metadata.text("head_dim"), "a positive integer");
  if (result.head_dim == 0) metadata.refuse("head_dim", "0", "a positive integer");
  if (result.rope_layout != RopeLayout::kNone && result.head_dim % 2 != 0)
    metadata.refuse("head_dim", metadata.text("head_dim"), "an even number under a rotary embedding");
  result.shrinkage = metadata.number<double>("shrinkage", metadata.text("shrinkage"), "0 to 1");
  if (!(result.shrinkage >= 0 && result.shrinkage <= 1))
    metadata.refuse("shrinkage", metadata.text("shrinkage"), "0 to 1");
  result.skipped = metadata.number<std::size_t>("skipped", metadata.text("skipped"), kCount);
  result.sources = lines_of(metadata.text("sources"));

  const auto indices = metadata.list("layers");
  const auto thetas = metadata.list("rope_theta", indices.size());
  const auto tokens = metadata.list("key_tokens", indices.size());
  const auto rows = metadata.list("query_rows", indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    CalibratedLayer layer;
    layer.index = metadata.number<int>("layers", indices[i], "integers from 0 on");
    if (result.rope_layout != RopeLayout::kNone) layer.rope_theta = metadata.positive("rope_theta", thetas[i]);
    const std::string first_tensor = tensor_name(layer.index, "keys", "mean");
    const TensorInfo* means = file.find(first_tensor);
    if (means == nullptr || means->shape.empty() || means->shape[0] == 0)
      throw_invalid_input(file.name(), "tensor " + first_tensor, means == nullptr ? "nothing" : "no head",
                          "[KV heads, head_dim]");
    const std::size_t heads = means->shape[0];
    const auto key_tokens = metadata.number<std::uint64_t>("key_tokens", tokens[i], kCount);
    const auto query_rows = metadata.number<std::uint64_t>("query_rows", rows[i], kCount);
    if (key_tokens < kLeastCalibratedTokens)
      metadata.refuse("key_tokens", tokens[i], fmt::format("{} or more", kLeastCalibratedTokens));
    if (query_rows == 0) metadata.refuse("query_rows", rows[i], "1 or more");
    for (std::size_t h = 0; h < heads; ++h)
      layer.heads.push_back({moments_of_head(file, layer.index, "keys", h, heads, result.head_dim, key_tokens),
                             moments_of_head(file, layer.index, "queries", h, heads, result.head_dim, query_rows)});
    result.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace orthant::kv

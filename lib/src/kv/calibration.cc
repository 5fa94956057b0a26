#include "orthant/kv/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"

namespace orthant::kv {
namespace {

using transform::Rope;
using transform::SecondMoments;

constexpr std::size_t kBlockRows = 256;

/// Tokens first, ..., last - 1 of one head of one dump, turned back by their positions.
SecondMoments turned_back(const Dump& dump, std::size_t layer, DumpTensor tensor, std::size_t head, std::size_t first,
                          std::size_t last, std::size_t position_of_row_0, const Rope& rope) {
  SecondMoments moments(rope.dim());
  Matrix<float> block(kBlockRows, rope.dim());
  for (std::size_t row = first; row < last; row += kBlockRows) {
    const MatrixView<float> rows = block.view().middle_rows(0, std::min(kBlockRows, last - row));
    dump.read_rows(layer, tensor, head, row, rows);
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const MatrixView<float> one = rows.middle_rows(i, 1);
      rope.turn(one, -static_cast<double>(position_of_row_0 + row + i), one);
    }
    moments.add(rows);
  }
  return moments;
}

std::size_t tokens_used(const Dump& dump, const CalibrationOptions& options) {
  return std::min(options.most_tokens, dump.tokens());
}

bool leaves_tokens(const Dump& dump, const CalibrationOptions& options) {
  return tokens_used(dump, options) >= options.skipped &&
         tokens_used(dump, options) - options.skipped >= kLeastCalibratedTokens;
}

/// The earliest queries, those of the first tokens not counted out.
std::size_t queries_used(const DumpLayer& layer, const CalibrationOptions& options) {
  return static_cast<std::size_t>(std::ceil(options.query_share * static_cast<double>(layer.query_tokens)));
}

bool leaves_queries(const Dump& dump, const DumpLayer& layer, const CalibrationOptions& options) {
  return dump.tokens() - layer.query_tokens + queries_used(layer, options) > options.skipped;
}

HeadMoments head_moments(const Dump& dump, std::size_t layer, std::size_t head, const Rope& rope,
                         const CalibrationOptions& options) {
  const DumpLayer& shape = dump.layers()[layer];
  const std::size_t end = tokens_used(dump, options);
  HeadMoments moments{
      turned_back(dump, layer, DumpTensor::kKeys, head, options.skipped, end, dump.first_position(), rope),
      SecondMoments(rope.dim())};
  const std::size_t first_token = dump.tokens() - shape.query_tokens;  // of query row 0
  const std::size_t first = options.skipped > first_token ? options.skipped - first_token : 0;
  const std::size_t used = queries_used(shape, options);
  for (std::size_t g = 0; g < shape.group_size(); ++g)
    moments.queries.merge(turned_back(dump, layer, DumpTensor::kQueries, head * shape.group_size() + g, first,
                                      std::max(first, used), dump.first_position() + first_token, rope));
  return moments;
}

void check_options(const CalibrationOptions& options) {
  if (!(options.query_share > 0 && options.query_share <= 1))
    throw_invalid_argument("calibrate", "share of the queries", std::to_string(options.query_share),
                           "above 0, up to 1");
  if (!(options.shrinkage >= 0 && options.shrinkage <= 1))
    throw_invalid_argument("calibrate", "shrinkage", std::to_string(options.shrinkage), "0 to 1");
}

void require_tokens(const Dump& dump, const CalibrationOptions& options) {
  if (!leaves_tokens(dump, options))
    throw_invalid_input(dump.name(), "tokens",
                        fmt::format("{}, of which calibration skips {}", tokens_used(dump, options), options.skipped),
                        fmt::format("at least {} that are left", kLeastCalibratedTokens));
  for (const DumpLayer& layer : dump.layers())
    if (!leaves_queries(dump, layer, options))
      throw_invalid_input(dump.name(), fmt::format("queries of layer {}", layer.index), "none after the skipped tokens",
                          "1 or more");
}

void require_same(const Dump& dump, const std::string& what, const std::string& got, const std::string& expected) {
  if (got != expected) throw_invalid_argument(dump.name(), what, got, expected + ", as in the dumps before it");
}

}  // namespace

const CalibratedLayer& Calibration::layer(int index) const {
  std::string known;
  for (const CalibratedLayer& layer : layers) {
    if (layer.index == index) return layer;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", layer.index);
  }
  throw_invalid_input("calibration of " + model, "layer", std::to_string(index), "one of " + known);
}

Rope Calibration::rope(const CalibratedLayer& layer) const { return Rope(rope_layout, head_dim, layer.rope_theta); }

bool leaves_something(const Dump& dump, const DumpLayer& layer, const CalibrationOptions& options) {
  return leaves_tokens(dump, options) && leaves_queries(dump, layer, options);
}

Calibration calibrate(std::span<const Dump> dumps, std::vector<std::string> sources,
                      const CalibrationOptions& options) {
  if (dumps.empty()) throw_invalid_argument("calibrate", "dumps", "none", "1 or more");
  require_size("calibrate", "number of sources", sources.size(), dumps.size());
  check_options(options);
  Calibration result;
  result.model = dumps.front().model();
  result.rope_layout = dumps.front().rope_layout();
  result.head_dim = dumps.front().layers().front().head_dim;
  result.shrinkage = options.shrinkage;
  result.skipped = options.skipped;
  result.sources = std::move(sources);

  struct Part {
    std::size_t dump;
    std::size_t layer;
    std::size_t head;
    int index;
  };
  std::map<int, std::pair<double, std::size_t>> shapes;  // rope_theta and KV heads of each layer
  std::vector<Part> parts;
  for (std::size_t n = 0; n < dumps.size(); ++n) {
    const Dump& dump = dumps[n];
    require_same(dump, "model", dump.model(), result.model);
    require_same(dump, "rope layout", name(dump.rope_layout()), name(result.rope_layout));
    require_tokens(dump, options);
    for (std::size_t l = 0; l < dump.layers().size(); ++l) {
      const DumpLayer& layer = dump.layers()[l];
      const std::string name = fmt::format("layer {}: ", layer.index);
      require_same(dump, name + "head dimension", std::to_string(layer.head_dim), std::to_string(result.head_dim));
      const auto [known, inserted] = shapes.try_emplace(layer.index, layer.rope_theta, layer.kv_heads);
      require_same(dump, name + "rope_theta", fmt::format("{}", layer.rope_theta),
                   fmt::format("{}", known->second.first));
      require_same(dump, name + "KV heads", std::to_string(layer.kv_heads), std::to_string(known->second.second));
      for (std::size_t h = 0; h < layer.kv_heads; ++h) parts.push_back({n, l, h, layer.index});
    }
  }

  std::map<int, std::size_t> place;
  for (const auto& [index, shape] : shapes) {
    place[index] = result.layers.size();
    result.layers.push_back({index, shape.first, {}});
    for (std::size_t h = 0; h < shape.second; ++h)
      result.layers.back().heads.push_back({SecondMoments(result.head_dim), SecondMoments(result.head_dim)});
  }
  std::vector<HeadMoments> moments(parts.size(), {SecondMoments(0), SecondMoments(0)});
  parallel_for(parts.size(), options.threads, [&](std::size_t i) {
    const Part& part = parts[i];
    moments[i] = head_moments(dumps[part.dump], part.layer, part.head, result.rope(result.layers[place.at(part.index)]),
                              options);
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    HeadMoments& head = result.layers[place.at(parts[i].index)].heads[parts[i].head];
    head.keys.merge(moments[i].keys);
    head.queries.merge(moments[i].queries);
  }
  return result;
}

}  // namespace orthant::kv

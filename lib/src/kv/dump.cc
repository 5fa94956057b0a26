#include "orthant/kv/dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "kv/metadata.h"
#include "orthant/core/error.h"

namespace orthant::kv {
namespace {

constexpr std::array kParts = {"keys", "values", "queries", "keys_pre_rope", "key_bias"};

const char* part_name(DumpTensor tensor) { return kParts[static_cast<std::size_t>(tensor)]; }

std::optional<std::size_t> parse_window(const Metadata& metadata, std::string_view text) {
  constexpr std::string_view kSliding = "sliding:";
  constexpr std::string_view kExpected = "global or sliding:W with W >= 1";
  if (text == "global") return std::nullopt;
  if (!text.starts_with(kSliding)) metadata.refuse("layer_types", "'" + std::string(text) + "'", kExpected);
  const auto window = metadata.number<std::size_t>("layer_types", text.substr(kSliding.size()), kExpected);
  if (window == 0) metadata.refuse("layer_types", text, kExpected);
  return window;
}

/// Chosen: see the format in dump.h.
constexpr float kLargestElement = 1e6;
constexpr double kSmallestScale = 1e-6;
constexpr double kLargestScale = 1e6;
constexpr std::size_t kPositions = std::size_t{1} << 31;

/// False for NaN too.
bool in_range(float x) { return std::abs(x) <= kLargestElement; }

[[noreturn]] void refuse_element(const std::string& file, const std::string& place, float x) {
  const std::string got = std::isnan(x) ? "NaN" : std::isinf(x) ? "infinity" : std::to_string(x);
  throw_invalid_input(file, place, got, "a finite number up to 1e6 in magnitude; is the tensor's dtype right?");
}

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (const std::size_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// Wildcard in an expected shape: any positive size.
constexpr std::size_t kAny = static_cast<std::size_t>(-1);

std::string expected_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (const std::size_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + (size == kAny ? std::string("1 or more") : std::to_string(size));
  }
  return text + "] in F32, F16 or BF16";
}

bool matches(std::span<const std::size_t> shape, std::span<const std::size_t> expected) {
  return std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                    [](std::size_t got, std::size_t want) { return want == kAny ? got > 0 : got == want; });
}

}  // namespace

Dump Dump::open(const std::filesystem::path& path) { return Dump(Safetensors::open(path)); }

Dump::Dump(Safetensors file) : file_(std::move(file)) {
  const Metadata metadata(file_);
  if (metadata.text("format") != "orthant-kv-1") {
    metadata.refuse("format", "'" + metadata.text("format") + "'", "'orthant-kv-1'");
  }
  for (const char* key : {"model", "source", "licence"}) metadata.text(key);
  tokens_ = metadata.number<std::size_t>("tokens", metadata.text("tokens"), "a positive integer");
  if (tokens_ == 0) metadata.refuse("tokens", "0", "a positive integer");
  softmax_scale_ = metadata.positive("softmax_scale", metadata.text("softmax_scale"));
  if (softmax_scale_ < kSmallestScale || softmax_scale_ > kLargestScale)
    metadata.refuse("softmax_scale", metadata.text("softmax_scale"), "1e-6 to 1e6");
  rope_layout_ = metadata.rope_layout();
  first_position_ =
      metadata.number<std::size_t>("first_position", metadata.text("first_position"), "an integer from 0 on");
  if (tokens_ > kPositions || first_position_ > kPositions - tokens_)
    metadata.refuse("first_position", metadata.text("first_position"), "a last token before position 2^31");

  const auto indices = metadata.list("layers");
  const auto types = metadata.list("layer_types", indices.size());
  std::vector<std::string_view> thetas;
  if (rope_layout_ != RopeLayout::kNone) thetas = metadata.list("rope_theta", indices.size());
  std::set<int> seen;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    DumpLayer layer;
    layer.index = metadata.number<int>("layers", indices[i], "integers from 0 on");
    if (layer.index < 0) metadata.refuse("layers", indices[i], "integers from 0 on");
    if (!seen.insert(layer.index).second) metadata.refuse("layers", std::string(indices[i]) + " twice", "each once");
    layer.window = parse_window(metadata, types[i]);
    if (!thetas.empty()) layer.rope_theta = metadata.positive("rope_theta", thetas[i]);
    layers_.push_back(layer);
    parse_layer(i);
  }

  std::size_t used = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const char* part : kParts) used += find(i, part) != nullptr ? 1U : 0U;
  }
  if (used != file_.tensors().size()) {
    throw_invalid_input(file_.name(), "tensors", std::to_string(file_.tensors().size()),
                        std::to_string(used) + ": those of the layers in its metadata");
  }
}

void Dump::parse_layer(std::size_t index) {
  DumpLayer& layer = layers_[index];
  const TensorInfo& keys = tensor_of(index, "keys", std::array{kAny, tokens_, kAny});
  layer.kv_heads = keys.shape[0];
  layer.head_dim = keys.shape[2];
  if (rope_layout_ != RopeLayout::kNone && layer.head_dim % 2 != 0) {
    throw_invalid_input(name(), "head dimension of " + keys.name, std::to_string(layer.head_dim),
                        std::string("an even number, since rope_layout is ") + transform::name(rope_layout_));
  }
  layer.key_element_bytes = element_bytes(keys.type);
  const TensorInfo& values = tensor_of(index, "values", std::array{layer.kv_heads, tokens_, kAny});
  layer.value_dim = values.shape[2];
  layer.value_element_bytes = element_bytes(values.type);
  const TensorInfo& queries = tensor_of(index, "queries", std::array{kAny, kAny, layer.head_dim});
  layer.q_heads = queries.shape[0];
  layer.query_tokens = queries.shape[1];
  if (layer.q_heads % layer.kv_heads != 0) {
    throw_invalid_input(name(), "query heads of " + queries.name, std::to_string(layer.q_heads),
                        "a multiple of the " + std::to_string(layer.kv_heads) + " KV heads");
  }
  if (layer.query_tokens > tokens_) {
    throw_invalid_input(name(), "query tokens of " + queries.name, std::to_string(layer.query_tokens),
                        "at most the " + std::to_string(tokens_) + " tokens");
  }
  layer.has_keys_pre_rope = optional_tensor_of(index, "keys_pre_rope", keys.shape) != nullptr;
  layer.has_key_bias = optional_tensor_of(index, "key_bias", std::array{layer.kv_heads, layer.head_dim}) != nullptr;
}

const TensorInfo* Dump::find(std::size_t layer, const char* part) const {
  return file_.find("layers." + std::to_string(layers_[layer].index) + "." + part);
}

const TensorInfo* Dump::optional_tensor_of(std::size_t layer, const char* part,
                                           std::span<const std::size_t> shape) const {
  const TensorInfo* tensor = find(layer, part);
  if (tensor == nullptr) return nullptr;
  const bool readable =
      tensor->type == TensorType::kF32 || tensor->type == TensorType::kF16 || tensor->type == TensorType::kBF16;
  if (!readable || !matches(tensor->shape, shape)) {
    throw_invalid_input(name(), "tensor " + tensor->name,
                        shape_text(tensor->shape) + " in " + std::string(to_string(tensor->type)),
                        expected_text(shape));
  }
  return tensor;
}

const TensorInfo& Dump::tensor_of(std::size_t layer, const char* part, std::span<const std::size_t> shape) const {
  const TensorInfo* tensor = optional_tensor_of(layer, part, shape);
  if (tensor == nullptr) {
    throw_invalid_input(name(), "tensor layers." + std::to_string(layers_[layer].index) + "." + part, "nothing",
                        expected_text(shape));
  }
  return *tensor;
}

void Dump::read_rows(std::size_t layer, DumpTensor tensor, std::size_t head, std::size_t first,
                     MatrixView<float> out) const {
  if (layer >= layers_.size()) {
    throw_invalid_argument("Dump", "layer", std::to_string(layer), "below " + std::to_string(layers_.size()));
  }
  const TensorInfo* found = find(layer, part_name(tensor));
  if (found == nullptr) {
    throw_invalid_argument(name(), std::string(part_name(tensor)) + " of layer " + std::to_string(layers_[layer].index),
                           "nothing", "a dump that has them");
  }
  const std::size_t rows = found->shape[1];
  if (head >= found->shape[0]) {
    throw_invalid_argument("Dump", "head of " + found->name, std::to_string(head),
                           "below " + std::to_string(found->shape[0]));
  }
  if (first > rows || out.rows() > rows - first) {
    throw_invalid_argument("Dump", "rows of " + found->name, std::to_string(first) + " + " + std::to_string(out.rows()),
                           "at most " + std::to_string(rows));
  }
  require_size("Dump", "columns for " + found->name, out.cols(), found->shape[2]);
  for (std::size_t i = 0; i < out.rows(); ++i) {
    const auto row = out.row(i);
    file_.read_floats(*found, (head * rows + first + i) * row.size(), row);
    const auto bad = std::find_if_not(row.begin(), row.end(), in_range);
    if (bad != row.end()) {
      refuse_element(name(),
                     found->name + " at head " + std::to_string(head) + ", token " + std::to_string(first + i) +
                         ", channel " + std::to_string(bad - row.begin()),
                     *bad);
    }
  }
}

Matrix<float> Dump::read(std::size_t layer, DumpTensor tensor, std::size_t head) const {
  const DumpLayer& shape = layers_.at(layer);
  Matrix<float> matrix(tensor == DumpTensor::kQueries ? shape.query_tokens : tokens_,
                       tensor == DumpTensor::kValues ? shape.value_dim : shape.head_dim);
  read_rows(layer, tensor, head, 0, matrix.view());
  return matrix;
}

std::vector<float> Dump::key_bias(std::size_t layer, std::size_t head) const {
  const DumpLayer& shape = layers_.at(layer);
  if (head >= shape.kv_heads) {
    throw_invalid_argument("Dump", "KV head", std::to_string(head), "below " + std::to_string(shape.kv_heads));
  }
  std::vector<float> bias(shape.head_dim);
  if (shape.has_key_bias) file_.read_floats(*find(layer, "key_bias"), head * shape.head_dim, bias);
  for (std::size_t j = 0; j < bias.size(); ++j) {
    if (in_range(bias[j])) continue;
    refuse_element(
        name(), find(layer, "key_bias")->name + " at head " + std::to_string(head) + ", channel " + std::to_string(j),
        bias[j]);
  }
  return bias;
}

void Dump::require_finite(std::size_t layer) const {
  const DumpLayer& shape = layers_.at(layer);
  const auto scan = [&](DumpTensor tensor, std::size_t heads, std::size_t rows, std::size_t cols) {
    Matrix<float> row(1, cols);
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t i = 0; i < rows; ++i) read_rows(layer, tensor, head, i, row.view());
    }
  };
  scan(DumpTensor::kKeys, shape.kv_heads, tokens_, shape.head_dim);
  scan(DumpTensor::kValues, shape.kv_heads, tokens_, shape.value_dim);
  scan(DumpTensor::kQueries, shape.q_heads, shape.query_tokens, shape.head_dim);
  if (shape.has_keys_pre_rope) scan(DumpTensor::kKeysPreRope, shape.kv_heads, tokens_, shape.head_dim);
  for (std::size_t head = 0; head < shape.kv_heads; ++head) key_bias(layer, head);
}

}  // namespace orthant::kv

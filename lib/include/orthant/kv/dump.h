#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/kv/safetensors.h"
#include "orthant/transform/rope.h"

namespace orthant::kv {

using transform::RopeLayout;

/// Shape and mask of one layer. Query head h reads KV head h / group_size().
struct DumpLayer {
  int index = 0;  ///< the layer's number in the model
  std::size_t kv_heads = 0;
  std::size_t q_heads = 0;
  std::size_t head_dim = 0;
  std::size_t value_dim = 0;
  std::size_t query_tokens = 0;
  std::size_t key_element_bytes = 0;    ///< of the type in which the dump holds keys
  std::size_t value_element_bytes = 0;  ///< the same for values
  std::optional<std::size_t> window;    ///< nothing: global attention
  double rope_theta = 0;                ///< 0 when the dump's rope layout is none
  bool has_keys_pre_rope = false;
  bool has_key_bias = false;

  std::size_t group_size() const { return q_heads / kv_heads; }
  /// First token a query at token i sees; it sees every one from there to i.
  std::size_t first_visible(std::size_t i) const { return window && i >= *window ? i + 1 - *window : 0; }
};

/// The per-head matrices of a layer.
enum class DumpTensor {
  kKeys,         ///< (tokens, head_dim), as cached: after the rotary embedding
  kValues,       ///< (tokens, value_dim)
  kQueries,      ///< (query_tokens, head_dim), of the last query_tokens positions
  kKeysPreRope,  ///< (tokens, head_dim), before the rotary embedding; optional
};

/// Keys, values and queries of a model's attention layers: format "orthant-kv-1", a safetensors file with
///   layers.<i>.keys [kv_heads, tokens, head_dim], .values [kv_heads, tokens, value_dim],
///   layers.<i>.queries [q_heads, query_tokens, head_dim]; optional .keys_pre_rope as keys, .key_bias [kv_heads,
///   head_dim]
/// in F32, F16 or BF16, and metadata strings format, model, source, licence, tokens, softmax_scale, rope_layout,
/// first_position and, in the order of `layers`, layers, layer_types (global or sliding:W) and, where keys are rotated,
/// rope_theta and an even head_dim. softmax_scale lies in [1e-6, 1e6], the last position below 2^31, and every element
/// in [-1e6, 1e6]: beyond it lies no model in use, but most dumps whose types or bytes are mixed up (a half-precision
/// number from 16 on, read as BF16, is 2^25 or more). What a method's own formats cannot hold, that method refuses.
/// InvalidInput, naming file and field, for anything that disagrees. Opening reads the header alone;
/// matrices are read on demand, one head at a time. Immutable and cheap to copy; calls may run concurrently.
class Dump {
 public:
  static Dump open(const std::filesystem::path& path);
  explicit Dump(Safetensors file);

  /// Path or name, for messages and reports.
  const std::string& name() const { return file_.name(); }
  const std::string& model() const { return file_.metadata().at("model"); }
  const std::string& source() const { return file_.metadata().at("source"); }
  const std::string& licence() const { return file_.metadata().at("licence"); }
  std::size_t tokens() const { return tokens_; }
  double softmax_scale() const { return softmax_scale_; }
  RopeLayout rope_layout() const { return rope_layout_; }
  /// Position, in the rotary embedding, of the dump's token 0.
  std::size_t first_position() const { return first_position_; }
  std::span<const DumpLayer> layers() const { return layers_; }

  /// One head of the `layer`-th entry of layers(). Throws InvalidArgument when the tensor or head does not exist and
  /// InvalidInput, naming the element, when a value is not finite or out of range.
  Matrix<float> read(std::size_t layer, DumpTensor tensor, std::size_t head) const;
  /// Tokens first, ..., first + out.rows() - 1 of the same; the columns of `out` must match.
  void read_rows(std::size_t layer, DumpTensor tensor, std::size_t head, std::size_t first,
                 MatrixView<float> out) const;
  /// The constant added to every key of a head before the rotary embedding; zeros when the dump has none.
  std::vector<float> key_bias(std::size_t layer, std::size_t head) const;

  /// Throws InvalidInput, naming the first element that is not finite or out of range, if any tensor of the layer has
  /// one.
  void require_finite(std::size_t layer) const;

 private:
  const TensorInfo& tensor_of(std::size_t layer, const char* part, std::span<const std::size_t> shape) const;
  const TensorInfo* optional_tensor_of(std::size_t layer, const char* part, std::span<const std::size_t> shape) const;
  const TensorInfo* find(std::size_t layer, const char* part) const;
  void parse_layer(std::size_t layer);

  Safetensors file_;
  std::size_t tokens_ = 0;
  double softmax_scale_ = 0;
  RopeLayout rope_layout_ = RopeLayout::kNone;
  std::size_t first_position_ = 0;
  std::vector<DumpLayer> layers_;
};

}  // namespace orthant::kv

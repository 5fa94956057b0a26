#include "orthant/kv/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/gemm.h"
#include "orthant/core/error.h"

namespace orthant::kv {
namespace {

/// Scores of one block of tokens against all queries: 2^19 floats stay in the second-level cache or near it.
constexpr std::size_t kScoresPerBlock = std::size_t{1} << 19;
constexpr std::size_t kLeastBlock = 16;
constexpr std::size_t kLargestBlock = 512;

/// Codes and decodes blocks of rows through one quantizer, or hands them on unchanged.
class BlockCoder {
 public:
  BlockCoder(const quantizer::VectorQuantizer* quantizer, std::size_t dim, std::size_t block) : quantizer_(quantizer) {
    if (quantizer_ == nullptr) return;
    require_size("evaluate_head", "dimension of " + quantizer_->describe(), quantizer_->dim(), dim);
    packed_ = Matrix<std::uint8_t>(block, quantizer_->bytes_per_vector());
    decoded_ = Matrix<float>(block, dim);
    work_.emplace(quantizer_->workspace_bytes(block));
  }

  bool changes() const { return quantizer_ != nullptr; }

  /// Rows as they come back; valid until the next call.
  MatrixView<const float> code(MatrixView<const float> x, RowError& error) {
    if (!changes()) return x;
    const auto packed = packed_.view().middle_rows(0, x.rows());
    const auto decoded = decoded_.view().middle_rows(0, x.rows());
    quantizer_->encode(x, packed, *work_);
    quantizer_->decode(packed, decoded, *work_);
    error.add(x, decoded);
    return decoded;
  }

 private:
  const quantizer::VectorQuantizer* quantizer_;
  Matrix<std::uint8_t> packed_;
  Matrix<float> decoded_;
  std::optional<Workspace> work_;
};

void subtract(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> difference) {
  for (std::size_t i = 0; i < a.rows(); ++i) {
    std::transform(a.row(i).begin(), a.row(i).end(), b.row(i).begin(), difference.row(i).begin(), std::minus<>());
  }
}

}  // namespace

void CodingError::merge(const CodingError& other) {
  keys.merge(other.keys);
  values.merge(other.values);
  attention.merge(other.attention);
}

CodingError evaluate_head(const Dump& dump, std::size_t layer, std::size_t head, const quantizer::VectorQuantizer* keys,
                          const quantizer::VectorQuantizer* values) {
  const DumpLayer& shape = dump.layers()[layer];
  const std::size_t first_query = dump.tokens() - shape.query_tokens;
  const std::size_t query_count = shape.group_size() * shape.query_tokens;

  Matrix<float> queries(query_count, shape.head_dim);
  std::vector<VisibleTokens> visible;
  for (std::size_t g = 0; g < shape.group_size(); ++g) {
    dump.read_rows(layer, DumpTensor::kQueries, head * shape.group_size() + g, 0,
                   queries.view().middle_rows(g * shape.query_tokens, shape.query_tokens));
    for (std::size_t i = first_query; i < dump.tokens(); ++i) visible.push_back({shape.first_visible(i), i});
  }
  const std::size_t first_read = shape.first_visible(first_query);

  const std::size_t block = std::clamp(kScoresPerBlock / query_count, kLeastBlock, kLargestBlock);
  BlockCoder key_coder(keys, shape.head_dim, block);
  BlockCoder value_coder(values, shape.value_dim, block);
  AttentionComparison attention(std::move(visible), dump.softmax_scale(), shape.value_dim);
  Matrix<float> key_block(block, shape.head_dim);
  Matrix<float> key_difference(block, shape.head_dim);
  Matrix<float> value_block(block, shape.value_dim);
  Matrix<float> scores(query_count, block);
  Matrix<float> score_errors(query_count, block);

  CodingError error;
  for (std::size_t first = 0; first < dump.tokens(); first += block) {
    const std::size_t n = std::min(block, dump.tokens() - first);
    const auto k = key_block.view().middle_rows(0, n);
    const auto v = value_block.view().middle_rows(0, n);
    dump.read_rows(layer, DumpTensor::kKeys, head, first, k);
    dump.read_rows(layer, DumpTensor::kValues, head, first, v);
    const MatrixView<const float> k_hat = key_coder.code(k, error.keys);
    const MatrixView<const float> v_hat = value_coder.code(v, error.values);
    if (first + n <= first_read) continue;  // no query reaches back so far

    const auto s = scores.view().middle_cols(0, n);
    const auto e = score_errors.view().middle_cols(0, n);
    multiply_transposed(queries.view(), k, s);
    if (key_coder.changes()) {
      const auto difference = key_difference.view().middle_rows(0, n);
      subtract(k_hat, k, difference);
      multiply_transposed(queries.view(), difference, e);
    }
    attention.add_block(first, s, e, v, v_hat);
  }
  error.attention = attention.result();
  return error;
}

}  // namespace orthant::kv

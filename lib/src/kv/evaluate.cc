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

/// One side of a head: hands out its rows as the cache has them, block after block.
class SideCache {
 public:
  SideCache(const Dump& dump, std::size_t layer, DumpTensor tensor, std::size_t head, std::size_t dim,
            SideQuantizer quantizer, std::size_t block)
      : quantizer_(quantizer) {
    if (quantizer_.rows != nullptr) {
      require_size("evaluate_head", "dimension of " + quantizer_.rows->describe(), quantizer_.rows->dim(), dim);
      packed_ = Matrix<std::uint8_t>(block, quantizer_.rows->bytes_per_vector());
      work_.emplace(quantizer_.rows->workspace_bytes(block));
      bytes_.metadata = quantizer_.rows->metadata_bytes() * dump.tokens();
      bytes_.payload = quantizer_.rows->bytes_per_vector() * dump.tokens() - bytes_.metadata;
    } else if (quantizer_.stream != nullptr) {
      require_size("evaluate_head", "dimension of " + quantizer_.stream->describe(), quantizer_.stream->dim(), dim);
      work_.emplace(quantizer_.stream->workspace_bytes());
      stream_.emplace(*quantizer_.stream, dump.tokens());
      Matrix<float> rows(block, dim);
      for (std::size_t first = 0; first < dump.tokens(); first += block) {
        const auto x = rows.view().middle_rows(0, std::min(block, dump.tokens() - first));
        dump.read_rows(layer, tensor, head, first, x);
        stream_->append(x, *work_);
      }
      stream_->settle(*work_);
      bytes_ = stream_->bytes();
      exact_ = Matrix<float>(block, dim);
    }
    if (changes()) decoded_ = Matrix<float>(block, dim);
  }

  bool changes() const { return quantizer_.changes(); }
  /// True when some token may be read exactly by one query and coded by another.
  bool has_exact_tokens() const { return stream_ && quantizer_.stream->schedule().keeps_exact_tokens(); }
  const quantizer::StreamBytes& bytes() const { return bytes_; }

  /// Tokens first, ... (rows x) as coded; valid until the next call.
  MatrixView<const float> code(std::size_t first, MatrixView<const float> x, RowError& error) {
    if (!changes()) return x;
    const auto decoded = decoded_.view().middle_rows(0, x.rows());
    if (stream_) {
      stream_->decode(first, decoded, *work_);
    } else {
      const auto packed = packed_.view().middle_rows(0, x.rows());
      quantizer_.rows->encode(x, packed, *work_);
      quantizer_.rows->decode(packed, decoded, *work_);
    }
    error.add(x, decoded);
    return decoded;
  }

  /// The same rows as a query reads those it finds exact.
  MatrixView<const float> exact(MatrixView<const float> x) {
    const auto rounded = exact_.view().middle_rows(0, x.rows());
    quantizer_.stream->round_exact(x, rounded);
    return rounded;
  }

  /// What the query of token `last` finds exact.
  ExactTokens exact_tokens(std::size_t last) const {
    const quantizer::FlushSchedule& schedule = quantizer_.stream->schedule();
    return {schedule.sinks, schedule.sinks + schedule.coded_when_read(last + 1)};
  }

 private:
  SideQuantizer quantizer_;
  Matrix<std::uint8_t> packed_;
  Matrix<float> decoded_;
  Matrix<float> exact_;
  std::optional<Workspace> work_;
  std::optional<quantizer::TokenStream> stream_;
  quantizer::StreamBytes bytes_;
};

void subtract(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> difference) {
  for (std::size_t i = 0; i < a.rows(); ++i) {
    std::transform(a.row(i).begin(), a.row(i).end(), b.row(i).begin(), difference.row(i).begin(), std::minus<>());
  }
}

/// errors(i, j) <- exact(i, j) where query i reads token first + j exactly.
void choose(std::span<const ExactTokens> tokens, std::size_t first, MatrixView<const float> exact,
            MatrixView<float> errors) {
  for (std::size_t i = 0; i < errors.rows(); ++i) {
    for (std::size_t j = 0; j < errors.cols(); ++j) {
      if (tokens[i].contains(first + j)) errors(i, j) = exact(i, j);
    }
  }
}

}  // namespace

void CodingError::merge(const CodingError& other) {
  keys.merge(other.keys);
  values.merge(other.values);
  attention.merge(other.attention);
  key_bytes += other.key_bytes;
  value_bytes += other.value_bytes;
}

CodingError evaluate_head(const Dump& dump, std::size_t layer, std::size_t head, SideQuantizer keys,
                          SideQuantizer values) {
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
  SideCache key_cache(dump, layer, DumpTensor::kKeys, head, shape.head_dim, keys, block);
  SideCache value_cache(dump, layer, DumpTensor::kValues, head, shape.value_dim, values, block);
  std::vector<ExactTokens> exact_keys;
  std::vector<ExactTokens> exact_values;
  for (const VisibleTokens& tokens : visible) {
    if (key_cache.has_exact_tokens()) exact_keys.push_back(key_cache.exact_tokens(tokens.last));
    if (value_cache.has_exact_tokens()) exact_values.push_back(value_cache.exact_tokens(tokens.last));
  }
  AttentionComparison attention(std::move(visible), dump.softmax_scale(), shape.value_dim);
  Matrix<float> key_block(block, shape.head_dim);
  Matrix<float> key_difference(block, shape.head_dim);
  Matrix<float> value_block(block, shape.value_dim);
  Matrix<float> scores(query_count, block);
  Matrix<float> score_errors(query_count, block);
  Matrix<float> exact_score_errors(exact_keys.size(), block);

  CodingError error;
  for (std::size_t first = 0; first < dump.tokens(); first += block) {
    const std::size_t n = std::min(block, dump.tokens() - first);
    const auto k = key_block.view().middle_rows(0, n);
    const auto v = value_block.view().middle_rows(0, n);
    dump.read_rows(layer, DumpTensor::kKeys, head, first, k);
    dump.read_rows(layer, DumpTensor::kValues, head, first, v);
    const MatrixView<const float> k_hat = key_cache.code(first, k, error.keys);
    const MatrixView<const float> v_hat = value_cache.code(first, v, error.values);
    if (first + n <= first_read) continue;  // no query reaches back so far

    const auto s = scores.view().middle_cols(0, n);
    const auto e = score_errors.view().middle_cols(0, n);
    multiply_transposed(queries.view(), k, s);
    if (key_cache.changes()) {
      const auto difference = key_difference.view().middle_rows(0, n);
      subtract(k_hat, k, difference);
      multiply_transposed(queries.view(), difference, e);
      if (key_cache.has_exact_tokens()) {
        subtract(key_cache.exact(k), k, difference);
        const auto exact = exact_score_errors.view().middle_cols(0, n);
        multiply_transposed(queries.view(), difference, exact);
        choose(exact_keys, first, exact, e);
      }
    }
    if (value_cache.has_exact_tokens()) {
      attention.add_block(first, s, e, v, v_hat, value_cache.exact(v), exact_values);
    } else {
      attention.add_block(first, s, e, v, v_hat);
    }
  }
  error.key_bytes = key_cache.bytes();
  error.value_bytes = value_cache.bytes();
  error.attention = attention.result();
  return error;
}

}  // namespace orthant::kv

#pragma once

#include <cstddef>

#include "orthant/kv/dump.h"
#include "orthant/kv/metrics.h"
#include "orthant/quantizer/streaming_quantizer.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::kv {

/// What codes one side of a head: rows one by one, or a stream of tokens with a schedule of its own; neither of them
/// leaves the side as it is. The quantizer must outlive its use.
struct SideQuantizer {
  const quantizer::VectorQuantizer* rows = nullptr;
  const quantizer::StreamingQuantizer* stream = nullptr;

  SideQuantizer() = default;
  SideQuantizer(std::nullptr_t) {}                                                      // NOLINT: as the pointers below
  SideQuantizer(const quantizer::VectorQuantizer* vectors) : rows(vectors) {}           // NOLINT: either kind will do
  SideQuantizer(const quantizer::StreamingQuantizer* streaming) : stream(streaming) {}  // NOLINT
  bool changes() const { return rows != nullptr || stream != nullptr; }
};

/// What coding keys and values costs: how far the decoded rows are off, and what attention makes of it.
struct CodingError {
  RowError keys;
  RowError values;
  AttentionError attention;
  quantizer::StreamBytes
      key_bytes;  ///< of all tokens, as packed once the last query has read; 0 where nothing is coded
  quantizer::StreamBytes value_bytes;

  void merge(const CodingError& other);
};

/// One KV head of the `layer`-th layer of a dump, under its own causal and sliding mask, seen by every query of the
/// query heads that read it. A side without a quantizer stays as it is: error exactly zero.
///   keys: every token is coded and decoded; the score of (q, k) is the method's estimate of <q, k> times the softmax
///   scale, here computed as <q, k> + <q, k_hat - k> in single precision (metrics.h).
///   A stream is filled with every token; a query at position t reads each token as the stream's schedule has it after
///   t + 1 tokens: exact (rounded to the stream's float format) or coded. Row errors are those of the filled stream.
/// Tokens go through in blocks: memory grows with the number of queries, and with the tokens only by the packed bytes
/// of a stream. Throws InvalidArgument when a quantizer's dim() is not the head's, or when it refuses a row.
CodingError evaluate_head(const Dump& dump, std::size_t layer, std::size_t head, SideQuantizer keys,
                          SideQuantizer values);

}  // namespace orthant::kv

#pragma once

#include <cstddef>

#include "orthant/kv/dump.h"
#include "orthant/kv/metrics.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::kv {

/// What coding keys and values costs: how far the decoded rows are off, and what attention makes of it.
struct CodingError {
  RowError keys;
  RowError values;
  AttentionError attention;

  void merge(const CodingError& other);
};

/// One KV head of the `layer`-th layer of a dump, under its own causal and sliding mask, seen by every query of the
/// query heads that read it. A null quantizer leaves its side as it is: error exactly zero.
///   keys: every token is coded and decoded; the score of (q, k) is the method's estimate of <q, k> times the softmax
///   scale, here computed as <q, k> + <q, k_hat - k> in single precision (metrics.h).
/// Tokens go through in blocks: memory grows with the number of queries, not of tokens. Throws InvalidArgument when
/// a quantizer's dim() is not the head's, or when it refuses a row.
CodingError evaluate_head(const Dump& dump, std::size_t layer, std::size_t head, const quantizer::VectorQuantizer* keys,
                          const quantizer::VectorQuantizer* values);

}  // namespace orthant::kv

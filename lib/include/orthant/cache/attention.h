#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/value_cache.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::cache {

/// Keys begin <= i < end, by their number in the cache.
struct KeyRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The queries of one KV head: a GQA group at one position (decode), or the groups of a block of positions (prefill).
struct AttentionHead {
  const KeyCache* keys = nullptr;
  const ValueCache* values = nullptr;      ///< as many tokens as keys; how many may differ from head to head
  MatrixView<const float> queries;         ///< (h, d), in the space of the keys' codes
  MatrixView<float> outputs;               ///< (h, value d), in the space of the values' codes; overwritten
  MatrixView<const float> terms = {};      ///< empty, (h, n) or (h, 1): added to the scores
  std::span<const KeyRange> visible = {};  ///< what each query sees; empty: every key
};

/// Attention straight from coded keys and values, in one pass over both:
///   outputs_h = sum_i p_i v_i,   p = softmax over the visible i of (scale <q_h, k_i> + term_hi)
/// by the online softmax (Milakov & Gimelshein 2018; Rabe & Staats 2021): chunks of kChunk keys give a maximum, a sum
/// of exponentials and a sum of values each, merged in key order. Chunks are what threads share, so the result has the
/// same bits for any number of threads.
///
/// Causal prefill of a block: append its keys and values, then give every query the range it may see; a sliding window
/// is a range that starts later. Chunks outside every range of eight neighbouring queries are skipped.
///
/// Weights are relative to the largest score of their chunk: an exponential below e^-87 counts as zero. Errors of
/// scores and sums are those of KeyCache and ValueCache.
///
/// One object serves one caller at a time; it keeps its buffers, so a call that is not larger than one before it does
/// not allocate (the thread pool aside).
class Attention {
 public:
  static constexpr std::size_t kChunk = 1024;

  /// threads: 0 for all of the hardware.
  explicit Attention(int threads = 1);

  /// Throws InvalidArgument, before anything is written, when shapes do not fit, a range is empty or reaches beyond the
  /// cache, or a query or term is not finite.
  void run(std::span<const AttentionHead> heads, float scale);

 private:
  static constexpr std::size_t kRows = 8;  // queries of a task: the largest batch of the kernels

  struct Task {
    std::size_t block;
    std::size_t first_key;
    std::size_t keys;
    std::size_t partial;  // index of its first row in the partial results
  };
  // Rows of one head; its tasks follow each other in key order. Who finishes the last of them merges.
  struct Block {
    std::size_t head;
    std::size_t first_row;
    std::size_t rows;
    std::size_t first_task;
    std::size_t tasks;
    std::size_t unfinished;
  };
  void plan_tasks(std::span<const AttentionHead> heads);
  void run_task(const AttentionHead& head, const Task& task, float scale, Workspace& work);
  void merge(const AttentionHead& head, const Block& block);

  int threads_;
  std::vector<Task> tasks_;
  std::vector<Block> blocks_;
  std::vector<Workspace> work_;  // one for each thread
  std::size_t work_bytes_ = 0;
  std::size_t width_ = 0;  // largest value dim
  std::vector<float> maxima_;
  std::vector<float> sums_;
  std::vector<float> outputs_;  // (partial rows, width_)
};

}  // namespace orthant::cache

#include "orthant/cache/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "cache/append_checks.h"
#include "kernels/kernel_table.h"
#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"

namespace orthant::cache {
namespace {

constexpr float kUnseen = -std::numeric_limits<float>::infinity();

void require_head(const AttentionHead& head) {
  constexpr const char* kWhere = "Attention::run";
  if (head.keys == nullptr || head.values == nullptr) {
    throw_invalid_argument(kWhere, "cache of a head", "none", "keys and values");
  }
  const std::size_t n = head.keys->size();
  require_size(kWhere, "tokens of values", head.values->size(), n);
  require_size(kWhere, "columns of queries", head.queries.cols(), head.keys->dim());
  require_size(kWhere, "rows of outputs", head.outputs.rows(), head.queries.rows());
  require_size(kWhere, "columns of outputs", head.outputs.cols(), head.values->dim());
  if (n == 0) throw_invalid_argument(kWhere, "keys of a head", "0", "at least 1");
  require_finite(kWhere, "query", head.queries);
  if (head.terms.rows() > 0) {
    require_size(kWhere, "rows of terms", head.terms.rows(), head.queries.rows());
    if (head.terms.cols() != 1) require_size(kWhere, "columns of terms", head.terms.cols(), n);
    require_finite(kWhere, "term", head.terms);
  }
  if (head.visible.empty()) return;
  require_size(kWhere, "visible ranges", head.visible.size(), head.queries.rows());
  for (const KeyRange& range : head.visible) {
    if (range.begin >= range.end || range.end > n) {
      throw_invalid_argument(kWhere, "visible range", std::to_string(range.begin) + " to " + std::to_string(range.end),
                             "not empty and within " + std::to_string(n) + " keys");
    }
  }
}

KeyRange seen_by(const AttentionHead& head, std::size_t row) {
  return head.visible.empty() ? KeyRange{0, head.keys->size()} : head.visible[row];
}

struct TaskRange {
  std::size_t begin;
  std::size_t end;
};

/// Tasks for a worker, none when all are taken: neighbours, since what it fetches ahead at the end of a chunk is the
/// beginning of the next, and fewer of them as fewer are left (guided self-scheduling, Polychronopoulos & Kuck 1987).
TaskRange take_tasks(std::atomic<std::size_t>& next, std::size_t tasks, std::size_t workers) {
  std::size_t begin = next.load();
  std::size_t end = begin;
  do {
    end = begin + (tasks - begin + 2 * workers - 1) / (2 * workers);
  } while (!next.compare_exchange_weak(begin, end));
  return {begin, end};
}

}  // namespace

Attention::Attention(int threads) : threads_(threads == 0 ? default_threads() : threads) {
  if (threads < 0) throw_invalid_argument("Attention", "threads", std::to_string(threads), "0 (all) or more");
}

void Attention::plan_tasks(std::span<const AttentionHead> heads) {
  tasks_.clear();
  blocks_.clear();
  std::size_t partials = 0;
  std::size_t bytes = 0;
  width_ = 0;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const AttentionHead& head = heads[i];
    width_ = std::max(width_, head.values->dim());
    bytes = std::max(bytes, std::max(head.keys->workspace_bytes(kRows), head.values->workspace_bytes(kRows)));
    for (std::size_t row = 0; row < head.queries.rows(); row += kRows) {
      const std::size_t rows = std::min(kRows, head.queries.rows() - row);
      std::size_t begin = head.keys->size();
      std::size_t end = 0;
      for (std::size_t r = row; r < row + rows; ++r) {
        begin = std::min(begin, seen_by(head, r).begin);
        end = std::max(end, seen_by(head, r).end);
      }
      const std::size_t first_task = tasks_.size();
      for (std::size_t key = begin / kChunk * kChunk; key < end; key += kChunk) {
        tasks_.push_back({blocks_.size(), key, std::min(kChunk, end - key), partials});
        partials += rows;
      }
      const std::size_t tasks = tasks_.size() - first_task;
      blocks_.push_back({i, row, rows, first_task, tasks, tasks});
    }
  }
  maxima_.resize(std::max(maxima_.size(), partials));
  sums_.resize(std::max(sums_.size(), partials));
  outputs_.resize(std::max(outputs_.size(), partials * width_));
  bytes += Workspace::bytes_for<float>(kRows * kChunk);
  if (bytes > work_bytes_ || work_.size() != static_cast<std::size_t>(threads_)) {
    work_bytes_ = std::max(bytes, work_bytes_);
    work_.clear();
    for (int t = 0; t < threads_; ++t) work_.emplace_back(work_bytes_);
  }
}

void Attention::run_task(const AttentionHead& head, const Task& task, float scale, Workspace& work) {
  const Workspace::Scope scope(work);
  const Block& block = blocks_[task.block];
  const MatrixView<float> scores(work.take<float>(block.rows * task.keys).data(), block.rows, task.keys);
  MatrixView<const float> terms;
  if (head.terms.rows() > 0) {
    terms = head.terms.middle_rows(block.first_row, block.rows);
    if (head.terms.cols() != 1) terms = terms.middle_cols(task.first_key, task.keys);
  }
  head.keys->scores(head.queries.middle_rows(block.first_row, block.rows), scale, task.first_key, scores, work, terms);
  const kernels::KernelTable& table = kernels::table_named(head.keys->target());
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::span<float> row = scores.row(r);
    const KeyRange seen = seen_by(head, block.first_row + r);
    const auto inside = [&](std::size_t key) {
      return std::clamp(key, task.first_key, task.first_key + task.keys) - task.first_key;
    };
    std::fill_n(row.begin(), inside(seen.begin), kUnseen);
    std::ranges::fill(row.subspan(inside(seen.end)), kUnseen);
    const float largest = table.largest(row.data(), row.size());
    maxima_[task.partial + r] = largest;
    if (largest == kUnseen) {
      std::ranges::fill(row, 0.0F);
      sums_[task.partial + r] = 0;
    } else {
      sums_[task.partial + r] = table.exponentials(row.data(), row.size(), largest);
    }
  }
  const MatrixView<float> outputs(outputs_.data() + task.partial * width_, block.rows, head.values->dim(), width_);
  head.values->sum_weights(scores, task.first_key, outputs, work);
}

void Attention::merge(const AttentionHead& head, const Block& block) {
  const std::span<const Task> tasks(tasks_.data() + block.first_task, block.tasks);
  for (std::size_t r = 0; r < block.rows; ++r) {
    float largest = kUnseen;
    for (const Task& task : tasks) largest = std::max(largest, maxima_[task.partial + r]);
    double sum = 0;
    for (const Task& task : tasks) {
      float& maximum = maxima_[task.partial + r];
      maximum = std::exp(maximum - largest);  // from here on the factor of the chunk
      sum += double{maximum} * double{sums_[task.partial + r]};
    }
    const std::span<float> out = head.outputs.row(block.first_row + r);
    std::ranges::fill(out, 0.0F);
    for (const Task& task : tasks) {
      const auto share = static_cast<float>(double{maxima_[task.partial + r]} / sum);
      const float* const partial = outputs_.data() + (task.partial + r) * width_;
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += share * partial[j];
    }
  }
}

void Attention::run(std::span<const AttentionHead> heads, float scale) {
  if (!std::isfinite(scale)) throw_invalid_argument("Attention::run", "scale", std::to_string(scale), "a finite value");
  for (const AttentionHead& head : heads) require_head(head);
  plan_tasks(heads);
  std::atomic<std::size_t> next{0};
  const std::size_t workers = std::min(static_cast<std::size_t>(threads_), std::max<std::size_t>(1, tasks_.size()));
  parallel_for(workers, static_cast<int>(workers), [&](std::size_t worker) {
    for (TaskRange mine = take_tasks(next, tasks_.size(), workers); mine.begin < mine.end;
         mine = take_tasks(next, tasks_.size(), workers)) {
      for (std::size_t t = mine.begin; t < mine.end; ++t) {
        const Task& task = tasks_[t];
        Block& block = blocks_[task.block];
        run_task(heads[block.head], task, scale, work_[worker]);
        if (std::atomic_ref(block.unfinished).fetch_sub(1) == 1) merge(heads[block.head], block);
      }
    }
  });
}

}  // namespace orthant::cache

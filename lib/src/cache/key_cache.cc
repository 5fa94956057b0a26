#include "orthant/cache/key_cache.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "cache/append_checks.h"
#include "cache/section_plan.h"
#include "kernels/kernel_table.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kLanes = TileLayout::kLanes;
static_assert(kLanes == kernels::kLanes && TileLayout::kRowBytes == kernels::kRowBytes);

// Sections of a row are scored in turn over this many tiles, which stay in the first-level cache meanwhile; over one
// when tiles stream from memory, so that they are still read in order.
constexpr std::size_t kTilesTogether = 4;

constexpr const char* kScores = "KeyCache::scores";  // in messages

float dot_in_order(std::span<const float> x, std::span<const float> y, float scale) {
  std::array<float, 16> sums{};
  std::size_t j = 0;
  for (; j + sums.size() <= x.size(); j += sums.size()) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += x[j + i] * y[j + i];
  }
  for (; j < x.size(); ++j) sums[j % sums.size()] += x[j] * y[j];
  float total = 0;
  for (const float sum : sums) total += sum;
  return scale * total;
}

struct QueryNorms {
  double n;
  double l1;
  double largest;
  double quad;
};

QueryNorms norms_of(std::span<const float> query) {
  QueryNorms norms{static_cast<double>(query.size()), 0, 0, double{kernels::largest_quad(query.data(), query.size())}};
  for (const float q : query) {
    norms.l1 += std::abs(double{q});
    norms.largest = std::max(norms.largest, std::abs(double{q}));
  }
  return norms;
}

/// E / C of the header.
double grid_error(const SectionPlan& plan, const kernels::Section& section, const QueryNorms& q) {
  if (plan.exact() || section.bits == 0) return 0;
  if (section.bits == 16) return q.l1 / 256;
  if (kernels::uses_tables(section, plan.table().arithmetic)) {
    const double block = section.bits == 1 ? 16 : 8;  // coordinates of four nibbles
    return std::ceil(q.n / block) * block * q.largest / (2 * kernels::table_top(section.bits));
  }
  if (section.grid->planes == 2) return q.l1 / 15876 + q.n * q.largest / 16065;
  if (section.grid->direct) return q.n * q.largest / (section.query_planes == 2 ? 32130 : 254);
  const bool limited = kernels::limits_quads(section, plan.table().arithmetic);
  const double largest = limited ? std::max(q.largest, q.quad * 127 / kernels::kQuadTop) : q.largest;
  return q.l1 / 126 + q.n * largest / 254;
}

}  // namespace

KeyCache::KeyCache(RowFormat format, CacheOptions options)
    : format_(std::move(format)),
      options_(std::move(options)),
      layout_(format_),
      plan_(SectionPlan::for_keys(format_, layout_, options_)),
      windows_(dim(), options_.first_exact, options_.last_exact) {}

std::string_view KeyCache::target() const { return plan_->table().name; }

void KeyCache::reserve(std::size_t keys) { tiles_.reserve(TileLayout::tiles(keys) * layout_.tile_bytes()); }

std::span<std::byte> KeyCache::tile_of(std::size_t key) {
  return {tiles_.own_data() + key / kLanes * layout_.tile_bytes(), layout_.tile_bytes()};
}

std::span<const std::byte> KeyCache::tile_of(std::size_t key) const {
  return {tiles_.data() + key / kLanes * layout_.tile_bytes(), layout_.tile_bytes()};
}

void KeyCache::append(const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
                      const MatrixView<const float>& offsets, const MatrixView<const float>& exact) {
  require_coded_rows("KeyCache::append", format_, windows_.any(), codes, scales, offsets, exact);
  const std::size_t n = codes.rows();
  tiles_.grow(TileLayout::tiles(size_ + n) * layout_.tile_bytes());
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<std::byte> tile = tile_of(size_ + i);
    const std::size_t lane = (size_ + i) % kLanes;
    layout_.put_codes(tile, lane, codes.row(i));
    for (std::size_t s = 0; s < format_.scales(); ++s) {
      TileLayout::put_half(tile, layout_.scale_offset(s), lane, float_to_half(scales(i, s)));
      if (format_.has_offsets()) {
        TileLayout::put_half(tile, layout_.offset_offset(s), lane, float_to_half(offsets(i, s)));
      }
    }
  }
  windows_.append(size_, exact);
  size_ += n;
}

void KeyCache::append(MatrixView<const float> keys) {
  require_plain_rows("KeyCache::append", format_, keys);
  tiles_.grow(TileLayout::tiles(size_ + keys.rows()) * layout_.tile_bytes());
  for (std::size_t i = 0; i < keys.rows(); ++i) {
    layout_.put_bfloat16(tile_of(size_ + i), (size_ + i) % kLanes, keys.row(i));
  }
  if (windows_.any()) windows_.append(size_, keys);
  size_ += keys.rows();
}

void KeyCache::decode(std::size_t first, MatrixView<float> keys) const {
  constexpr const char* kWhere = "KeyCache::decode";
  require_size(kWhere, "columns of keys", keys.cols(), dim());
  require_range(kWhere, first, keys.rows(), size_);
  std::vector<std::uint8_t> codes(dim());
  std::vector<std::uint16_t> halves(dim());
  for (std::size_t i = 0; i < keys.rows(); ++i) {
    const std::size_t key = first + i;
    const std::span<const std::byte> tile = tile_of(key);
    const std::size_t lane = key % kLanes;
    const std::span<float> to = keys.row(i);
    if (format_.is_bfloat16()) {
      layout_.get_bfloat16(tile, lane, halves);
      std::ranges::transform(halves, to.begin(), bfloat16_to_float);
      continue;
    }
    layout_.get_codes(tile, lane, codes);
    for (const RowFormat::Section& section : format_.sections()) {
      const float scale = half_to_float(TileLayout::get_half(tile, layout_.scale_offset(section.scale), lane));
      const float offset = format_.has_offsets()
                               ? half_to_float(TileLayout::get_half(tile, layout_.offset_offset(section.scale), lane))
                               : 0.0F;
      for (std::size_t j = section.first; j < section.first + section.dims; ++j) {
        to[j] = scale * section.levels[codes[j]] + offset;
      }
    }
  }
}

std::size_t KeyCache::prepared_bytes(std::size_t heads) const {
  std::size_t bytes = 0;
  for (std::size_t head = 0, batch = 0; head < heads; head += batch) {
    batch = plan_->batch(heads - head);
    bytes += plan_->query_bytes(batch);
  }
  return bytes;
}

std::size_t KeyCache::workspace_bytes(std::size_t queries) const { return workspace_bytes(queries, 1); }

std::size_t KeyCache::workspace_bytes(std::size_t queries, std::size_t runs) const {
  return Workspace::bytes_for<std::byte>(runs * prepared_bytes(queries)) +
         Workspace::bytes_for<float>(plan_->batch(queries) * kLanes);
}

void KeyCache::prepare_runs(const Runs& runs, const MatrixView<const float>& queries, float scale,
                            const MatrixView<const float>& terms, std::span<std::byte> prepared) const {
  const std::size_t bytes = prepared.size() / runs.count;
  std::size_t at = 0;
  for (std::size_t head = 0, batch = 0; head < runs.heads; head += batch) {
    batch = plan_->batch(runs.heads - head);
    const std::size_t rows = queries.rows() - head;
    plan_->prepare({.queries = queries.middle_rows(head, rows),
                    .terms = terms.rows() > 0 ? terms.middle_rows(head, rows) : MatrixView<const float>(),
                    .count = runs.count,
                    .rows = runs.heads,
                    .batch = batch,
                    .scale = scale},
                   prepared.data() + at, bytes);
    if (head + batch < runs.heads) at += plan_->query_bytes(batch);
  }
}

void KeyCache::prepare_turned_runs(const Runs& runs, const kernels::TurnedQueries& queries,
                                   std::span<std::byte> prepared) const {
  const std::size_t bytes = prepared.size() / runs.count;
  kernels::TurnedQueries of_batch = queries;
  kernels::QueryRows& rows = of_batch.rows;
  std::size_t at = 0;
  for (std::size_t head = 0; head < runs.heads; head += rows.count) {
    rows.data = queries.rows.data + head * rows.stride;
    rows.count = plan_->batch(runs.heads - head);
    plan_->prepare_turned(of_batch, prepared.data() + at, bytes);
    at += plan_->query_bytes(rows.count);
  }
}

void KeyCache::score_runs(std::span<const std::byte> prepared, const Runs& runs, std::size_t first,
                          const MatrixView<float>& scores, Workspace& work, bool accumulate) const {
  const std::size_t bytes = prepared.size() / runs.count;
  // A kernel goes from run to run by itself, unless sections take turns.
  const std::size_t together = plan_->parts().size() == 1 ? runs.count : 1;
  for (std::size_t r = 0; r < runs.count; r += together) {
    const std::size_t begin = r * runs.keys;
    std::size_t at = r * bytes;
    const MatrixView<float> of_runs = scores.middle_cols(begin, std::min(together * runs.keys, scores.cols() - begin));
    for (std::size_t head = 0, batch = 0; head < runs.heads; head += batch) {
      batch = plan_->batch(runs.heads - head);
      score_tiles({prepared.subspan(at), bytes, TileLayout::tiles(runs.keys)}, first + begin,
                  of_runs.middle_rows(head, batch), work, accumulate);
      if (head + batch < runs.heads) at += plan_->query_bytes(batch);
    }
  }
}

void KeyCache::score_tiles(const PreparedRuns& prepared, std::size_t first, const MatrixView<float>& scores,
                           Workspace& work, bool accumulate) const {
  const std::size_t batch = scores.rows();
  const std::size_t n = scores.cols();
  const std::size_t tile_bytes = layout_.tile_bytes();
  const std::byte* const tiles = tiles_.data() + first / kLanes * tile_bytes;
  // By the size of the cache, not of this run: a cache scored tile by tile is read from memory all the same.
  const std::size_t prefetch = plan_->prefetch_distance(tiles_.size(), batch);
  const std::size_t whole = n / kLanes;
  const std::size_t of_sections = SectionPlan::streams(tiles_.size()) ? 1 : kTilesTogether;
  const std::size_t together = plan_->parts().size() == 1 ? whole : of_sections;
  for (std::size_t tile = 0; tile < whole; tile += together) {
    plan_->score(prepared.blocks, batch,
                 {tiles + tile * tile_bytes, std::min(together, whole - tile), scores.data() + tile * kLanes,
                  scores.stride(), accumulate, prefetch, prepared.tiles_each, prepared.stride});
  }
  const std::size_t rest = n % kLanes;
  if (rest == 0) return;
  // Kernels write whole tiles: the last one goes by way of the workspace.
  const Workspace::Scope scope(work);
  const std::span<float> last = work.take<float>(batch * kLanes);
  const MatrixView<float> tail = scores.middle_cols(whole * kLanes, rest);
  for (std::size_t h = 0; h < batch && accumulate; ++h) {
    std::ranges::copy(tail.row(h), last.subspan(h * kLanes).begin());
  }
  plan_->score(prepared.blocks.subspan(whole / prepared.tiles_each * prepared.stride), batch,
               {tiles + whole * tile_bytes, 1, last.data(), kLanes, accumulate});
  for (std::size_t h = 0; h < batch; ++h) std::ranges::copy(last.subspan(h * kLanes, rest), tail.row(h).begin());
}

void KeyCache::score_windows(MatrixView<const float> queries, float scale, std::size_t first, MatrixView<float> scores,
                             MatrixView<const float> terms) const {
  const auto score = [&](std::size_t key) {
    const std::size_t i = key - first;
    for (std::size_t h = 0; h < queries.rows(); ++h) {
      scores(h, i) = dot_in_order(queries.row(h), windows_.row(key), scale);
      if (terms.rows() > 0) scores(h, i) += terms(h, terms.cols() == 1 ? 0 : i);
    }
  };
  const std::size_t end = first + scores.cols();
  std::size_t key = first;
  for (; key < std::min(end, windows_.first()); ++key) score(key);
  for (key = std::max(key, windows_.last_begin(size_)); key < end; ++key) score(key);
}

void KeyCache::require_scorable(std::string_view where, std::string_view what, const MatrixView<const float>& queries,
                                float scale) const {
  require_finite(where, what, queries, plan_->table());
  if (!std::isfinite(scale)) throw_invalid_argument(where, "scale", std::to_string(scale), "a finite value");
}

void KeyCache::scores(MatrixView<const float> queries, float scale, std::size_t first, MatrixView<float> scores,
                      Workspace& work, MatrixView<const float> terms) const {
  require_size(kScores, "columns of queries", queries.cols(), dim());
  require_size(kScores, "rows of scores", scores.rows(), queries.rows());
  if (first % kLanes != 0) {
    throw_invalid_argument(kScores, "first key", std::to_string(first), "a multiple of " + std::to_string(kLanes));
  }
  require_range(kScores, first, scores.cols(), size_);
  if (terms.rows() > 0) {
    require_size(kScores, "rows of terms", terms.rows(), queries.rows());
    if (terms.cols() != 1) require_size(kScores, "columns of terms", terms.cols(), scores.cols());
  }
  require_scorable(kScores, "query", queries, scale);
  const bool term_each = terms.cols() > 1;
  for (std::size_t h = 0; h < terms.rows() && term_each; ++h) std::ranges::copy(terms.row(h), scores.row(h).begin());
  const Workspace::Scope scope(work);
  const std::span<std::byte> prepared = work.take<std::byte>(prepared_bytes(queries.rows()));
  const Runs runs{1, scores.cols(), queries.rows()};
  prepare_runs(runs, queries, scale, term_each ? MatrixView<const float>() : terms, prepared);
  score_runs(prepared, runs, first, scores, work, term_each);
  if (windows_.any()) score_windows(queries, scale, first, scores, terms);
}

KeyCache::KeyReach KeyCache::reach_of(std::size_t key, const SectionPart& part) const {
  const auto largest_of = [&](std::span<const float> row) {
    double largest = 0;
    for (const float x : row.subspan(part.first, part.section.dims)) largest = std::max(largest, std::abs(double{x}));
    return largest;
  };
  if (windows_.holds(key, size_)) return {0, largest_of(windows_.row(key))};
  if (format_.is_bfloat16()) {
    Matrix<float> row(1, dim());
    decode(key, row.view());
    return {largest_of(row.row(0)), largest_of(row.row(0))};
  }
  const auto half_at = [&](std::size_t offset) {
    return std::abs(double{half_to_float(TileLayout::get_half(tile_of(key), offset, key % kLanes))});
  };
  const double scale = half_at(layout_.scale_offset(part.scale));
  const double offset = format_.has_offsets() ? half_at(layout_.offset_offset(part.scale)) : 0;
  const double half_range = double{part.section.half_range};
  return {scale * half_range, scale * (half_range + std::abs(double{part.middle})) + offset};
}

void KeyCache::score_error_bounds(MatrixView<const float> queries, float scale, std::size_t first,
                                  MatrixView<float> bounds) const {
  constexpr const char* kWhere = "KeyCache::score_error_bounds";
  require_size(kWhere, "columns of queries", queries.cols(), dim());
  require_size(kWhere, "rows of bounds", bounds.rows(), queries.rows());
  require_range(kWhere, first, bounds.cols(), size_);
  for (std::size_t h = 0; h < queries.rows(); ++h) {
    for (std::size_t i = 0; i < bounds.cols(); ++i) {
      double bound = 0;
      for (const SectionPart& part : plan_->parts()) {
        const QueryNorms norms = norms_of(queries.row(h).subspan(part.first, part.section.dims));
        const KeyReach reach = reach_of(first + i, part);
        bound += reach.error_range * grid_error(*plan_, part.section, norms) +
                 (norms.n / 2 + 16) * 0x1p-24 * reach.largest * norms.l1;
      }
      bounds(h, i) = static_cast<float>(std::abs(double{scale}) * bound);
    }
  }
}

}  // namespace orthant::cache

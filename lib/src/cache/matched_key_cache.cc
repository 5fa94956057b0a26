#include "orthant/cache/matched_key_cache.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "cache/append_checks.h"
#include "cache/section_plan.h"
#include "core/gemm.h"
#include "orthant/core/error.h"
#include "orthant/transform/fast_rotation.h"
#include "orthant/transform/matched_transform.h"
#include "transform/wide_loops.h"

namespace orthant::cache {
namespace {

constexpr const char* kScores = "MatchedKeyCache::scores";  // in messages

constexpr std::size_t kBlockRows = 64;

/// Tiles of the frame whose queries are made ready before the first of them is scored: the cache's stream of tiles is
/// broken off once for all of them.
constexpr std::size_t kRowsReady = 64;
/// Of them, how many rows are transformed together: enough to hide what each waits for, few enough that their floats
/// stay in the first-level cache.
constexpr std::size_t kRowsTogether = 16;
/// Tiles whose queries are turned from that of the first of them: their phases stay in the first-level cache.
constexpr std::size_t kBlockTiles = 16;
/// Floats between their rows: phases as far apart as the rows would wait for stores to the same place in a page.
constexpr std::size_t kGap = 16;

std::size_t tiles_for(std::size_t rows, std::size_t queries) {
  return std::max<std::size_t>(1, rows / std::max<std::size_t>(1, queries));
}

/// 1 / A_jj when one pass over a query can turn and scale it, else nothing.
std::vector<float> scales_of(const transform::Rope& rope, const transform::Transform* map) {
  if (rope.layout() != transform::RopeLayout::kHalf || 2 * rope.frequencies().size() != rope.dim()) return {};
  if (map == nullptr) return std::vector<float>(rope.dim(), 1.0F);
  const auto* matched = dynamic_cast<const transform::MatchedTransform*>(map);
  if (matched == nullptr) return {};
  const std::span<const float> scales = matched->query_scales();
  return {scales.begin(), scales.end()};
}

/// scale_j S_jj / sqrt(d) when one segment is rotated by H S / sqrt(d), else nothing.
std::vector<float> signed_scales_of(std::span<const float> scales,
                                    const std::vector<MatchedKeyCoder::Segment>& segments) {
  if (scales.empty() || segments.size() != 1) return {};
  const auto* const rotation = dynamic_cast<const transform::FastRotation*>(&segments.front().coder->rotation());
  if (rotation == nullptr || rotation->single_round_signs().empty()) return {};
  std::vector<float> result(scales.begin(), scales.end());
  const double norm = std::sqrt(static_cast<double>(result.size()));
  for (std::size_t j = 0; j < result.size(); ++j)
    result[j] = static_cast<float>(double{result[j]} * double{rotation->single_round_signs()[j]} / norm);
  return result;
}

/// hypot(scales_i, scales_{i + pairs}).
std::vector<float> pair_reaches_of(std::span<const float> scales) {
  std::vector<float> result(scales.size() / 2);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::hypot(scales[i], scales[result.size() + i]);
  return result;
}

}  // namespace

MatchedKeyCoder::MatchedKeyCoder(transform::KeyFrame frame, std::vector<float> mean,
                                 std::shared_ptr<const transform::Transform> map, std::vector<Segment> segments)
    : frame_(std::move(frame)), mean_(std::move(mean)), map_(std::move(map)), segments_(std::move(segments)) {
  require_size("MatchedKeyCoder", "size of the mean", mean_.size(), frame_.rope().dim());
  if (map_) require_size("MatchedKeyCoder", "dimension of the map", map_->dim(), dim());
  std::size_t total = 0;
  bool coded = false;
  for (const Segment& s : segments_) {
    if (s.coder) require_size("MatchedKeyCoder", "dimension of a segment's coder", s.coder->dim(), s.dim);
    coded = coded || s.coder;
    total += s.dim;
  }
  require_size("MatchedKeyCoder", "coordinates of all segments", total, dim());
  if (!coded) throw_invalid_argument("MatchedKeyCoder", "coded segments", "0", "1 or more");
  const std::size_t tile = frame_.alignment().tile;
  if (tile % TileLayout::kLanes != 0)
    throw_invalid_argument("MatchedKeyCoder", "tile of the frame", std::to_string(tile), "0 or a multiple of 64");
  query_scales_ = scales_of(frame_.rope(), map_.get());
  signed_scales_ = signed_scales_of(query_scales_, segments_);
  pair_reaches_ = pair_reaches_of(signed_scales_);
  reach_ = std::sqrt(transform::wide_loops().dot(mean_.data(), mean_.data(), dim()));
  for (const float scale : query_scales_) reach_ = std::max(reach_, scale);
}

RowFormat MatchedKeyCoder::format() const {
  std::vector<RowFormat::Section> sections;
  std::size_t first = 0;
  std::size_t scales = 0;
  for (const Segment& s : segments_) {
    RowFormat::Section section{first, s.dim, 0, {0.0F}, 0};
    if (s.coder) {
      const std::span<const float> levels = s.coder->table().centroids();
      section = {first, s.dim, s.coder->bits(), {levels.begin(), levels.end()}, scales++};
    }
    sections.push_back(std::move(section));
    first += s.dim;
  }
  return RowFormat(std::move(sections), scales, false);
}

std::size_t MatchedKeyCoder::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::max(rows, kBlockRows);
  std::size_t most = map_ ? map_->workspace_bytes(block) : 0;
  for (const Segment& s : segments_)
    if (s.coder) most = std::max({most, s.coder->workspace_bytes(block), s.coder->rotation().workspace_bytes(block)});
  return Workspace::bytes_for<float>(block * dim()) + Workspace::bytes_for<float>(block) + most;
}

void MatchedKeyCoder::rotate_keys(MatrixView<float> y, Workspace& work) const {
  std::size_t first = 0;
  for (const Segment& s : segments_) {
    const MatrixView<float> part = y.middle_cols(first, s.dim);
    if (s.coder) s.coder->rotation().apply_keys(part, part, work);
    first += s.dim;
  }
}

void MatchedKeyCoder::encode(MatrixView<const float> keys, std::size_t first, MatrixView<std::uint8_t> codes,
                             MatrixView<float> scales, MatrixView<float> exact, Workspace& work) const {
  require_size("MatchedKeyCoder::encode", "columns of the keys", keys.cols(), dim());
  require_size("MatchedKeyCoder::encode", "rows of the codes", codes.rows(), keys.rows());
  require_size("MatchedKeyCoder::encode", "columns of the codes", codes.cols(), dim());
  require_size("MatchedKeyCoder::encode", "rows of the scales", scales.rows(), keys.rows());
  const Workspace::Scope scope(work);
  const MatrixView<float> block(work.take<float>(kBlockRows * dim()).data(), kBlockRows, dim());
  const std::span<float> norms = work.take<float>(kBlockRows);
  for (std::size_t row = 0; row < keys.rows(); row += kBlockRows) {
    const std::size_t n = std::min(kBlockRows, keys.rows() - row);
    const MatrixView<float> y = block.middle_rows(0, n);
    frame_.enter(keys.middle_rows(row, n), first + row, y);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < dim(); ++j) y(i, j) -= mean_[j];
    if (map_) map_->apply_keys(y, y, work);
    std::size_t column = 0;
    std::size_t scale = 0;
    for (const Segment& s : segments_) {
      const MatrixView<std::uint8_t> part = codes.middle_rows(row, n).middle_cols(column, s.dim);
      if (s.coder) {
        s.coder->encode_codes(y.middle_cols(column, s.dim), part, norms.first(n), work);
        for (std::size_t i = 0; i < n; ++i) scales(row + i, scale) = norms[i];
        ++scale;
      } else {
        for (std::size_t i = 0; i < n; ++i) std::ranges::fill(part.row(i), std::uint8_t{0});
      }
      column += s.dim;
    }
    if (exact.rows() == 0) continue;
    rotate_keys(y, work);
    for (std::size_t i = 0; i < n; ++i) std::ranges::copy(y.row(i), exact.row(row + i).begin());
  }
}

void MatchedKeyCoder::transform_queries(MatrixView<const float> framed, MatrixView<float> p, Workspace& work) const {
  if (map_) {
    map_->apply_queries(framed, p, work);
  } else {
    for (std::size_t i = 0; i < p.rows(); ++i) std::ranges::copy(framed.row(i), p.row(i).begin());
  }
  rotate_queries(p, work);
}

void MatchedKeyCoder::transform_queries(const MatrixView<const float>& queries, std::span<const float> phases,
                                        const MatrixView<float>& p, std::span<float> means, Workspace& work) const {
  const transform::WideLoops& loops = transform::wide_loops();
  const std::size_t h = queries.rows();
  const std::size_t pairs = frame_.rope().frequencies().size();
  const std::size_t tiles = h == 0 ? 0 : p.rows() / h;
  if (query_scales_.empty()) {
    const Workspace::Scope scope(work);
    const MatrixView<float> framed(work.take<float>(p.rows() * dim()).data(), p.rows(), dim());
    for (std::size_t t = 0; t < tiles; ++t)
      frame_.rope().turn(queries, phases.subspan(t * 2 * pairs, 2 * pairs), framed.middle_rows(t * h, h));
    for (std::size_t i = 0; i < p.rows(); ++i) means[i] = loops.dot(framed.row(i).data(), mean_.data(), dim());
    return transform_queries(framed, p, work);
  }
  const std::vector<float>& scales = signed_scales_.empty() ? query_scales_ : signed_scales_;
  for (std::size_t q = 0; q < h; ++q) {
    loops.turn_and_scale(queries.row(q).data(), pairs, scales.data(), mean_.data(),
                         {.count = tiles,
                          .phases = phases.data(),
                          .out = p.row(q).data(),
                          .out_stride = h * p.stride(),
                          .sums = means.data() + q,
                          .sum_stride = h});
  }
  if (!signed_scales_.empty()) return loops.butterflies(p.data(), dim(), p.rows(), p.stride());
  rotate_queries(p, work);
}

bool MatchedKeyCoder::transforms_stay_finite(MatrixView<const float> queries) const {
  constexpr float kFarFromTheEnd = 1e30F;  // of float, 3e38
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const float* const query = queries.row(q).data();
    const float length = std::sqrt(transform::wide_loops().dot(query, query, dim()));
    if (!(length * reach_ < kFarFromTheEnd)) return false;
  }
  return !query_scales_.empty();
}

void MatchedKeyCoder::rotate_queries(const MatrixView<float>& p, Workspace& work) const {
  if (segments_.size() == 1) return segments_.front().coder->rotation().apply_queries(p, p, work);
  std::size_t first = 0;
  for (const Segment& s : segments_) {
    const MatrixView<float> part = p.middle_cols(first, s.dim);
    if (s.coder) s.coder->rotation().apply_queries(part, part, work);
    first += s.dim;
  }
}

MatchedKeyCache::MatchedKeyCache(std::shared_ptr<const MatchedKeyCoder> coder, const CacheOptions& options,
                                 std::size_t first_position)
    : coder_(std::move(coder)),
      first_position_(first_position),
      keeps_exact_(options.first_exact > 0 || options.last_exact > 0),
      keys_(coder_->format(), options) {
  const std::size_t tile = coder_->frame().alignment().tile;
  if (tile != 0 && first_position % tile != 0)
    throw_invalid_argument("MatchedKeyCache", "first position", std::to_string(first_position),
                           "a multiple of the tile, " + std::to_string(tile));
  if (tile == 0) return;
  tile_phases_.resize(kBlockTiles * phase_width());
  for (std::size_t i = 0; i < kBlockTiles; ++i)
    coder_->frame().rope().phases(-static_cast<double>(i * tile),
                                  std::span(tile_phases_).subspan(i * phase_width(), phase_width()));
  if (!coder_->frame().rotating()) return;
  turned_means_ = Matrix<float>(tile, coder_->dim());
  for (std::size_t delta = 0; delta < tile; ++delta) coder_->frame().mean_at(delta, turned_means_.row(delta));
}

std::size_t MatchedKeyCache::append_workspace_bytes() const {
  const std::size_t d = coder_->dim();
  return Workspace::bytes_for<std::uint8_t>(kBlockRows * d) +
         Workspace::bytes_for<float>(kBlockRows * keys_.format().scales()) +
         Workspace::bytes_for<float>(kBlockRows * d) + coder_->workspace_bytes(kBlockRows);
}

void MatchedKeyCache::append(MatrixView<const float> keys, Workspace& work) {
  require_size("MatchedKeyCache::append", "columns of the keys", keys.cols(), coder_->dim());
  require_finite("MatchedKeyCache::append", "key", keys);
  grow_phases(size() + keys.rows());
  if (keys.rows() <= kBlockRows) return append_block(keys, work);
  // All are coded before any is stored: scales may not fit, and then nothing is changed.
  const std::size_t n = keys.rows();
  Matrix<std::uint8_t> codes(n, coder_->dim());
  Matrix<float> scales(n, keys_.format().scales());
  Matrix<float> exact(keeps_exact_ ? n : 0, coder_->dim());
  coder_->encode(keys, first_position_ + size(), codes.view(), scales.view(), exact.view(), work);
  keys_.append(codes.view(), scales.view(), {}, exact.view());
}

void MatchedKeyCache::append_block(const MatrixView<const float>& keys, Workspace& work) {
  const std::size_t d = coder_->dim();
  const std::size_t n = keys.rows();
  const std::size_t scale_count = keys_.format().scales();
  const Workspace::Scope scope(work);
  const MatrixView<std::uint8_t> codes(work.take<std::uint8_t>(kBlockRows * d).data(), kBlockRows, d);
  const MatrixView<float> scales(work.take<float>(kBlockRows * scale_count).data(), kBlockRows, scale_count);
  const MatrixView<float> exact(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  const MatrixView<float> window = keeps_exact_ ? exact.middle_rows(0, n) : MatrixView<float>();
  coder_->encode(keys, first_position_ + size(), codes.middle_rows(0, n), scales.middle_rows(0, n), window, work);
  keys_.append(codes.middle_rows(0, n), scales.middle_rows(0, n), {}, window);
}

void MatchedKeyCache::grow_phases(std::size_t keys) {
  const std::size_t tile = coder_->frame().alignment().tile;
  if (tile == 0) return;
  const std::size_t width = phase_width();
  while (width > 0 && block_phases_.size() / width * kBlockTiles * tile < keys) {
    const std::size_t start = first_position_ + block_phases_.size() / width * kBlockTiles * tile;
    block_phases_.resize(block_phases_.size() + width);
    coder_->frame().rope().phases(-static_cast<double>(start), std::span(block_phases_).last(width));
  }
}

std::size_t MatchedKeyCache::workspace_bytes(std::size_t queries) const {
  const std::size_t d = coder_->dim();
  const std::size_t tiles = tiles_for(kRowsTogether, queries);
  const std::size_t terms = coder_->frame().rotating() ? std::max(turned_means_.rows(), kBlockRows) : tiles;
  return 2 * Workspace::bytes_for<float>(tiles * queries * (d + kGap)) + Workspace::bytes_for<float>(queries * terms) +
         Workspace::bytes_for<float>(tiles * phase_width()) + Workspace::bytes_for<float>(std::max(d, queries)) +
         std::max(coder_->workspace_bytes(tiles * queries), keys_.workspace_bytes(queries)) +
         keys_.workspace_bytes(queries, tiles_for(kRowsReady, queries));
}

void MatchedKeyCache::scores(MatrixView<const float> queries, float scale, MatrixView<float> scores,
                             Workspace& work) const {
  require_size(kScores, "columns of the queries", queries.cols(), coder_->dim());
  require_size(kScores, "rows of the scores", scores.rows(), queries.rows());
  require_size(kScores, "columns of the scores", scores.cols(), size());
  if (queries.rows() == 0) return;
  const bool finite = std::isfinite(scale) && coder_->transforms_stay_finite(queries);
  if (!finite) keys_.require_scorable(kScores, "query", queries, scale);
  if (coder_->frame().rotating()) return scores_with_rotating_mean(queries, scale, scores, work);
  if (coder_->frame().alignment().tile == 0) return scores_of_one_run(queries, scale, scores, work);
  scores_of_runs(queries, scale, finite, scores, work);
  if (keeps_exact_) score_exact_tokens(queries, scale, scores, work);
}

void MatchedKeyCache::scores_of_one_run(const MatrixView<const float>& queries, float scale,
                                        const MatrixView<float>& scores, Workspace& work) const {
  const Workspace::Scope scope(work);
  const MatrixView<float> p(work.take<float>(queries.rows() * coder_->dim()).data(), queries.rows(), coder_->dim());
  const std::span<float> terms = work.take<float>(queries.rows());
  for (std::size_t q = 0; q < queries.rows(); ++q)
    terms[q] = scale * transform::wide_loops().dot(queries.row(q).data(), coder_->mean().data(), coder_->dim());
  coder_->transform_queries(queries, p, work);
  keys_.scores(p, scale, 0, scores, work, MatrixView<const float>(terms.data(), terms.size(), 1));
}

void MatchedKeyCache::scores_of_runs(const MatrixView<const float>& queries, float scale, bool finite,
                                     const MatrixView<float>& scores, Workspace& work) const {
  const std::size_t h = queries.rows();
  const std::size_t d = coder_->dim();
  const std::size_t tile = coder_->frame().alignment().tile;
  const std::size_t tiles = (size() + tile - 1) / tile;
  const std::size_t ready = tiles_for(kRowsReady, h);
  const std::size_t together = tiles_for(kRowsTogether, h);
  const std::size_t bytes = keys_.prepared_bytes(h);
  const bool one_pass = finite && turns_in_one_pass();
  const Workspace::Scope scope(work);
  const MatrixView<float> p(work.take<float>(together * h * (d + kGap)).data(), together * h, d, d + kGap);
  const std::span<float> terms = work.take<float>(together * h);
  const std::span<float> phases = work.take<float>(together * phase_width());
  const std::span<std::byte> prepared = work.take<std::byte>(ready * bytes);
  for (std::size_t first = 0; first < tiles; first += ready) {
    const std::size_t end = std::min(first + ready, tiles);
    for (std::size_t t = first, n = 0; t < end; t += n) {
      n = std::min(one_pass ? kBlockTiles - t % kBlockTiles : together, end - t);
      const std::span<std::byte> of_tiles = prepared.subspan((t - first) * bytes, n * bytes);
      if (one_pass) {
        prepare_turned(queries, scale, t, n, of_tiles);
        continue;
      }
      put_phases(t, phases.first(n * phase_width()));
      coder_->transform_queries(queries, phases, p.middle_rows(0, n * h), terms.first(n * h), work);
      for (std::size_t i = 0; i < n && !finite; ++i)
        keys_.require_scorable(kScores, "transformed query", p.middle_rows(i * h, h), scale);
      for (float& term : terms.first(n * h)) term *= scale;
      keys_.prepare_runs({n, tile, h}, p.middle_rows(0, n * h), scale, MatrixView<const float>(terms.data(), n * h, 1),
                         of_tiles);
    }
    const std::size_t begin = first * tile;
    keys_.score_runs(prepared.first((end - first) * bytes), {end - first, tile, h}, begin,
                     scores.middle_cols(begin, std::min(end * tile, size()) - begin), work, false);
  }
}

bool MatchedKeyCache::turns_in_one_pass() const {
  return !coder_->signed_scales_.empty() && keys_.plan_->takes_turned();
}

void MatchedKeyCache::prepare_turned(const MatrixView<const float>& queries, float scale, std::size_t tile,
                                     std::size_t count, std::span<std::byte> prepared) const {
  const std::size_t in_block = tile % kBlockTiles;  // phases are dim() floats: every channel turns
  keys_.prepare_turned_runs({count, coder_->frame().alignment().tile, queries.rows()},
                            {.rows = {queries.data(), queries.stride(), queries.rows(), scale},
                             .scales = coder_->signed_scales_.data(),
                             .reaches = coder_->pair_reaches_.data(),
                             .mean = coder_->mean_.data(),
                             .block_phases = block_phases_.data() + tile / kBlockTiles * coder_->dim(),
                             .tile_phases = tile_phases_.data() + in_block * coder_->dim(),
                             .tiles = count},
                            prepared);
}

void MatchedKeyCache::score_exact_tokens(const MatrixView<const float>& queries, float scale,
                                         const MatrixView<float>& scores, Workspace& work) const {
  const std::size_t h = queries.rows();
  const std::size_t tile = coder_->frame().alignment().tile;
  const ExactWindows& windows = keys_.windows_;
  const std::size_t tiles = (size() + tile - 1) / tile;
  const Workspace::Scope scope(work);
  const MatrixView<float> p(work.take<float>(h * coder_->dim()).data(), h, coder_->dim());
  const std::span<float> terms = work.take<float>(h);
  const std::span<float> phases = work.take<float>(phase_width());
  const auto score_tile = [&](std::size_t t) {
    put_phases(t, phases);
    coder_->transform_queries(queries, phases, p, terms, work);
    for (float& term : terms) term *= scale;
    const std::size_t first = t * tile;
    keys_.score_windows(p, scale, first, scores.middle_cols(first, std::min(tile, size() - first)),
                        MatrixView<const float>(terms.data(), h, 1));
  };
  const std::size_t of_first = std::min(tiles, (windows.first() + tile - 1) / tile);
  for (std::size_t t = 0; t < of_first; ++t) score_tile(t);
  for (std::size_t t = std::max(of_first, windows.last_begin(size()) / tile); t < tiles; ++t) score_tile(t);
}

void MatchedKeyCache::scores_with_rotating_mean(MatrixView<const float> queries, float scale, MatrixView<float> scores,
                                                Workspace& work) const {
  const std::size_t h = queries.rows();
  const std::size_t d = coder_->dim();
  const std::size_t tile = coder_->frame().alignment().tile;
  const std::size_t run = tile != 0 ? tile : kBlockRows;
  const Workspace::Scope scope(work);
  const MatrixView<float> framed(work.take<float>(h * d).data(), h, d);
  const MatrixView<float> p(work.take<float>(h * d).data(), h, d);
  const MatrixView<float> terms(work.take<float>(h * run).data(), h, run);
  const std::span<float> mean = work.take<float>(d);
  const std::span<float> phases = work.take<float>(phase_width());
  if (tile == 0) {
    for (std::size_t q = 0; q < h; ++q) std::ranges::copy(queries.row(q), framed.row(q).begin());
    coder_->transform_queries(framed, p, work);
  }
  for (std::size_t first = 0; first < size(); first += run) {
    const std::size_t n = std::min(run, size() - first);
    const MatrixView<float> run_terms = terms.middle_cols(0, n);
    if (tile != 0) {
      put_phases(first / tile, phases);
      coder_->frame().rope().turn(queries, phases, framed);
      coder_->transform_queries(framed, p, work);
      // One query at a time with all means of a tile: a product's sums depend on its shape.
      for (std::size_t q = 0; q < h; ++q)
        multiply_transposed(framed.middle_rows(q, 1), turned_means_.view(), terms.middle_rows(q, 1));
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        coder_->frame().mean_at(first_position_ + first + i, mean);
        for (std::size_t q = 0; q < h; ++q)
          terms(q, i) = transform::wide_loops().dot(framed.row(q).data(), mean.data(), d);
      }
    }
    for (std::size_t q = 0; q < h; ++q)
      for (float& term : run_terms.row(q)) term *= scale;
    keys_.scores(p, scale, first, scores.middle_cols(first, n), work, run_terms);
  }
}

void MatchedKeyCache::put_phases(std::size_t tile, std::span<float> phases) const {
  const std::size_t width = phase_width();
  const std::size_t pairs = width / 2;
  for (std::size_t at = 0; at < phases.size(); at += width, ++tile) {
    const float* const block = block_phases_.data() + tile / kBlockTiles * width;
    const float* const within = tile_phases_.data() + tile % kBlockTiles * width;
    for (std::size_t i = 0; i < pairs; ++i) {
      phases[at + i] = block[i] * within[i] - block[pairs + i] * within[pairs + i];
      phases[at + pairs + i] = block[pairs + i] * within[i] + block[i] * within[pairs + i];
    }
  }
}

}  // namespace orthant::cache

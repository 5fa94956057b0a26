#include "orthant/cache/matched_key_cache.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/gemm.h"
#include "orthant/core/error.h"
#include "orthant/transform/matched_transform.h"
#include "transform/wide_loops.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kBlockRows = 64;

/// 1 / A_jj when one pass over a query can turn and scale it, else nothing.
std::vector<float> scales_of(const transform::Rope& rope, const transform::Transform* map) {
  if (rope.layout() != transform::RopeLayout::kHalf || 2 * rope.frequencies().size() != rope.dim()) return {};
  if (map == nullptr) return std::vector<float>(rope.dim(), 1.0F);
  const auto* matched = dynamic_cast<const transform::MatchedTransform*>(map);
  if (matched == nullptr) return {};
  const std::span<const float> scales = matched->query_scales();
  return {scales.begin(), scales.end()};
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
  scaled_mean_.resize(query_scales_.size());
  reach_ = std::sqrt(transform::wide_loops().dot(mean_.data(), mean_.data(), dim()));
  for (std::size_t j = 0; j < scaled_mean_.size(); ++j) {
    scaled_mean_[j] = mean_[j] / query_scales_[j];
    reach_ = std::max(reach_, query_scales_[j]);
  }
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
  if (query_scales_.empty()) {
    const Workspace::Scope scope(work);
    const MatrixView<float> framed(work.take<float>(queries.rows() * dim()).data(), queries.rows(), dim());
    frame_.rope().turn(queries, phases, framed);
    for (std::size_t q = 0; q < queries.rows(); ++q) means[q] = loops.dot(framed.row(q).data(), mean_.data(), dim());
    return transform_queries(framed, p, work);
  }
  const std::size_t pairs = dim() / 2;
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    means[q] = loops.turn_and_scale(queries.row(q).data(), pairs, phases.data(), phases.data() + pairs,
                                    query_scales_.data(), scaled_mean_.data(), p.row(q).data());
  }
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
  if (tile == 0 || !coder_->frame().rotating()) return;
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
  const std::size_t d = coder_->dim();
  const std::size_t scale_count = keys_.format().scales();
  const Workspace::Scope scope(work);
  const MatrixView<std::uint8_t> codes(work.take<std::uint8_t>(kBlockRows * d).data(), kBlockRows, d);
  const MatrixView<float> scales(work.take<float>(kBlockRows * scale_count).data(), kBlockRows, scale_count);
  const MatrixView<float> exact(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  for (std::size_t row = 0; row < keys.rows(); row += kBlockRows) {
    const std::size_t n = std::min(kBlockRows, keys.rows() - row);
    const MatrixView<float> window = keeps_exact_ ? exact.middle_rows(0, n) : MatrixView<float>();
    coder_->encode(keys.middle_rows(row, n), first_position_ + keys_.size(), codes.middle_rows(0, n),
                   scales.middle_rows(0, n), window, work);
    keys_.append(codes.middle_rows(0, n), scales.middle_rows(0, n), {}, window);
  }
  const std::size_t tile = coder_->frame().alignment().tile;
  if (tile == 0) return;
  const transform::Rope& rope = coder_->frame().rope();
  const std::size_t width = 2 * rope.frequencies().size();
  while (width > 0 && phases_.size() / width * tile < size()) {
    const std::size_t tile_start = first_position_ + phases_.size() / width * tile;
    phases_.resize(phases_.size() + width);
    rope.phases(-static_cast<double>(tile_start), std::span(phases_).last(width));
  }
}

std::size_t MatchedKeyCache::workspace_bytes(std::size_t queries) const {
  const std::size_t d = coder_->dim();
  const std::size_t terms = coder_->frame().rotating() ? std::max(turned_means_.rows(), kBlockRows) : 1;
  return 3 * Workspace::bytes_for<float>(queries * d) + Workspace::bytes_for<float>(queries * terms) +
         Workspace::bytes_for<float>(std::max(d, queries)) +
         std::max(coder_->workspace_bytes(queries), keys_.workspace_bytes(queries));
}

void MatchedKeyCache::scores(MatrixView<const float> queries, float scale, MatrixView<float> scores,
                             Workspace& work) const {
  require_size("MatchedKeyCache::scores", "columns of the queries", queries.cols(), coder_->dim());
  require_size("MatchedKeyCache::scores", "rows of the scores", scores.rows(), queries.rows());
  require_size("MatchedKeyCache::scores", "columns of the scores", scores.cols(), size());
  if (coder_->frame().rotating()) return scores_with_rotating_mean(queries, scale, scores, work);
  const std::size_t h = queries.rows();
  const std::size_t d = coder_->dim();
  const Workspace::Scope scope(work);
  const MatrixView<float> p(work.take<float>(h * d).data(), h, d);
  const std::span<float> terms = work.take<float>(h);
  const MatrixView<const float> mean_terms(terms.data(), h, 1);
  const std::size_t tile = coder_->frame().alignment().tile;
  const std::size_t run = tile != 0 ? tile : std::max<std::size_t>(size(), 1);
  const bool finite = std::isfinite(scale) && coder_->transforms_stay_finite(queries);
  for (std::size_t index = 0, first = 0; first < size(); ++index, first += run) {
    if (tile != 0) {
      coder_->transform_queries(queries, phases_of(index), p, terms, work);
    } else {
      for (std::size_t q = 0; q < h; ++q)
        terms[q] = transform::wide_loops().dot(queries.row(q).data(), coder_->mean().data(), d);
      coder_->transform_queries(queries, p, work);
    }
    for (float& term : terms) term *= scale;
    const MatrixView<float> part = scores.middle_cols(first, std::min(run, size() - first));
    if (finite) {
      keys_.scores_of_checked(p, scale, first, part, work, mean_terms);
    } else {
      keys_.scores(p, scale, first, part, work, mean_terms);
    }
  }
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
  if (tile == 0) {
    for (std::size_t q = 0; q < h; ++q) std::ranges::copy(queries.row(q), framed.row(q).begin());
    coder_->transform_queries(framed, p, work);
  }
  for (std::size_t first = 0; first < size(); first += run) {
    const std::size_t n = std::min(run, size() - first);
    const MatrixView<float> run_terms = terms.middle_cols(0, n);
    if (tile != 0) {
      coder_->frame().rope().turn(queries, phases_of(first / tile), framed);
      coder_->transform_queries(framed, p, work);
      multiply_transposed(framed, turned_means_.view().middle_rows(0, n), run_terms);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        coder_->frame().mean_at(first_position_ + first + i, mean);
        multiply_transposed(framed, MatrixView<const float>(mean.data(), 1, d), terms.middle_cols(i, 1));
      }
    }
    for (std::size_t q = 0; q < h; ++q)
      for (float& term : run_terms.row(q)) term *= scale;
    keys_.scores(p, scale, first, scores.middle_cols(first, n), work, run_terms);
  }
}

std::span<const float> MatchedKeyCache::phases_of(std::size_t tile) const {
  const std::size_t width = 2 * coder_->frame().rope().frequencies().size();
  return std::span(phases_).subspan(tile * width, width);
}

}  // namespace orthant::cache

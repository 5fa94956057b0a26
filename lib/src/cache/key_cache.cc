#include "orthant/cache/key_cache.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "cache/section_plan.h"
#include "kernels/kernel_table.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kLanes = TileLayout::kLanes;
static_assert(kLanes == kernels::kLanes && TileLayout::kRowBytes == kernels::kRowBytes);

// Tiles beyond the second-level cache are fetched this far ahead (measured: 2 to 4 KiB serve every width).
constexpr std::size_t kPrefetchBytes = 4096;
constexpr std::size_t kCachedBytes = std::size_t{1} << 20;
// Sections of a row are scored in turn over this many tiles, which stay in the first-level cache meanwhile.
constexpr std::size_t kTilesTogether = 4;

const kernels::KernelTable& table_for(const std::string& target) {
  return target.empty() ? kernels::chosen_table() : kernels::table_named(target);
}

void require_half(const char* what, std::size_t row, float value) {
  const float kept = half_to_float(float_to_half(value));
  if (!std::isfinite(kept)) {
    throw_invalid_argument("KeyCache::append", std::string(what) + " of row " + std::to_string(row),
                           std::to_string(value), "a value of magnitude below 65520");
  }
}

void require_finite(const char* where, const char* what, MatrixView<const float> values) {
  for (std::size_t i = 0; i < values.rows(); ++i) {
    const std::span<const float> row = values.row(i);
    const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
    if (bad != row.end()) {
      throw_invalid_argument(
          where, std::string(what) + " row " + std::to_string(i) + ", column " + std::to_string(bad - row.begin()),
          std::to_string(*bad), "a finite value");
    }
  }
}

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

}  // namespace

namespace {

struct QueryNorms {
  double n;
  double l1;
  double largest;
};

QueryNorms norms_of(std::span<const float> query) {
  QueryNorms norms{static_cast<double>(query.size()), 0, 0};
  for (const float q : query) {
    norms.l1 += std::abs(double{q});
    norms.largest = std::max(norms.largest, std::abs(double{q}));
  }
  return norms;
}

/// E / C of the header.
double grid_error(const kernels::Section& section, bool exact, const QueryNorms& q) {
  if (exact || section.bits == 0) return 0;
  if (section.bits == 16) return q.l1 / 256;
  if (section.grid->planes == 2) return q.l1 / 15876 + q.n * q.largest / 16065;
  if (section.grid->direct) return q.n * q.largest / (section.query_planes == 2 ? 32130 : 254);
  return q.l1 / 126 + q.n * q.largest / 254;
}

}  // namespace

KeyCache::KeyCache(RowFormat format, KeyCacheOptions options)
    : format_(std::move(format)), options_(std::move(options)), layout_(format_) {
  if (options_.query_bits != 0 && options_.query_bits != 8 && options_.query_bits != 16) {
    throw_invalid_argument("KeyCache", "query_bits", std::to_string(options_.query_bits), "0, 8 or 16");
  }
  plan_ = std::make_shared<const SectionPlan>(format_, layout_, table_for(options_.target),
                                              options_.precision == Precision::kExact, options_.query_bits);
  first_rows_.reserve(options_.first_exact * dim());
  last_rows_.resize(options_.last_exact * dim());
}

std::string_view KeyCache::target() const { return plan_->table().name; }

std::size_t KeyCache::bytes() const { return tiles_.size() + (first_rows_.size() + last_rows_.size()) * sizeof(float); }

void KeyCache::reserve(std::size_t keys) { tiles_.reserve(TileLayout::tiles(keys) * layout_.tile_bytes()); }

bool KeyCache::is_exact(std::size_t key) const {
  return key < options_.first_exact || key + options_.last_exact >= size_;
}

std::span<const float> KeyCache::exact_row(std::size_t key) const {
  if (key < options_.first_exact) return {first_rows_.data() + key * dim(), dim()};
  return {last_rows_.data() + key % options_.last_exact * dim(), dim()};
}

std::span<std::byte> KeyCache::lane_tile(std::size_t key) {
  return {tiles_.data() + key / kLanes * layout_.tile_bytes(), layout_.tile_bytes()};
}

void KeyCache::require_append(MatrixView<const std::uint8_t> codes, MatrixView<const float> scales,
                              MatrixView<const float> offsets, MatrixView<const float> exact) const {
  constexpr const char* kWhere = "KeyCache::append";
  if (format_.is_bfloat16()) {
    throw_invalid_argument(kWhere, "codes", "codes and scales", "the keys themselves: the cache holds bfloat16");
  }
  const std::size_t n = codes.rows();
  require_size(kWhere, "columns of codes", codes.cols(), dim());
  require_size(kWhere, "rows of scales", scales.rows(), n);
  require_size(kWhere, "columns of scales", scales.cols(), format_.scales());
  require_size(kWhere, "rows of offsets", offsets.rows(), format_.has_offsets() ? n : 0);
  if (format_.has_offsets()) require_size(kWhere, "columns of offsets", offsets.cols(), format_.scales());
  const bool windows = options_.first_exact + options_.last_exact > 0;
  require_size(kWhere, "rows of exact keys", exact.rows(), windows ? n : 0);
  if (windows) {
    require_size(kWhere, "columns of exact keys", exact.cols(), dim());
    require_finite(kWhere, "exact keys:", exact);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (const float scale : scales.row(i)) require_half("scale", i, scale);
    if (format_.has_offsets()) {
      for (const float offset : offsets.row(i)) require_half("offset", i, offset);
    }
    const std::span<const std::uint8_t> row = codes.row(i);
    for (const RowFormat::Section& section : format_.sections()) {
      const unsigned limit = 1U << section.bits;
      for (std::size_t j = section.first; j < section.first + section.dims; ++j) {
        if (row[j] >= limit) {
          throw_invalid_argument(kWhere, "code in row " + std::to_string(i) + ", column " + std::to_string(j),
                                 std::to_string(row[j]), "less than " + std::to_string(limit));
        }
      }
    }
  }
}

void KeyCache::keep_exact(MatrixView<const float> exact) {
  for (std::size_t i = 0; i < exact.rows(); ++i) {
    const std::size_t key = size_ + i;
    if (key < options_.first_exact) first_rows_.insert(first_rows_.end(), exact.row(i).begin(), exact.row(i).end());
    if (options_.last_exact > 0) {
      std::ranges::copy(exact.row(i),
                        last_rows_.begin() + static_cast<std::ptrdiff_t>(key % options_.last_exact * dim()));
    }
  }
}

void KeyCache::append(MatrixView<const std::uint8_t> codes, MatrixView<const float> scales,
                      MatrixView<const float> offsets, MatrixView<const float> exact) {
  require_append(codes, scales, offsets, exact);
  const std::size_t n = codes.rows();
  tiles_.grow(TileLayout::tiles(size_ + n) * layout_.tile_bytes());
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<std::byte> tile = lane_tile(size_ + i);
    const std::size_t lane = (size_ + i) % kLanes;
    layout_.put_codes(tile, lane, codes.row(i));
    for (std::size_t s = 0; s < format_.scales(); ++s) {
      TileLayout::put_half(tile, layout_.scale_offset(s), lane, float_to_half(scales(i, s)));
      if (format_.has_offsets()) {
        TileLayout::put_half(tile, layout_.offset_offset(s), lane, float_to_half(offsets(i, s)));
      }
    }
  }
  keep_exact(exact);
  size_ += n;
}

void KeyCache::append(MatrixView<const float> keys) {
  constexpr const char* kWhere = "KeyCache::append";
  if (!format_.is_bfloat16()) {
    throw_invalid_argument(kWhere, "keys", "floats", "codes and scales: the cache does not hold bfloat16");
  }
  require_size(kWhere, "columns of keys", keys.cols(), dim());
  require_finite(kWhere, "keys:", keys);
  std::vector<std::uint16_t> row(dim());
  tiles_.grow(TileLayout::tiles(size_ + keys.rows()) * layout_.tile_bytes());
  for (std::size_t i = 0; i < keys.rows(); ++i) {
    std::ranges::transform(keys.row(i), row.begin(), float_to_bfloat16);
    layout_.put_bfloat16(lane_tile(size_ + i), (size_ + i) % kLanes, row);
  }
  if (options_.first_exact + options_.last_exact > 0) keep_exact(keys);
  size_ += keys.rows();
}

void KeyCache::decode(std::size_t first, MatrixView<float> keys) const {
  constexpr const char* kWhere = "KeyCache::decode";
  require_size(kWhere, "columns of keys", keys.cols(), dim());
  if (first > size_ || keys.rows() > size_ - first) {
    throw_invalid_argument(kWhere, "last key", std::to_string(first + keys.rows()), "at most " + std::to_string(size_));
  }
  std::vector<std::uint8_t> codes(dim());
  std::vector<std::uint16_t> halves(dim());
  for (std::size_t i = 0; i < keys.rows(); ++i) {
    const std::size_t key = first + i;
    const std::span<const std::byte> tile(tiles_.data() + key / kLanes * layout_.tile_bytes(), layout_.tile_bytes());
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

std::size_t KeyCache::workspace_bytes(std::size_t queries) const {
  const std::size_t batch = plan_->batch(queries);
  return Workspace::bytes_for<std::byte>(plan_->query_bytes(batch)) + Workspace::bytes_for<float>(batch * kLanes);
}

void KeyCache::scores(MatrixView<const float> queries, float scale, std::size_t first, MatrixView<float> scores,
                      Workspace& work, MatrixView<const float> terms) const {
  constexpr const char* kWhere = "KeyCache::scores";
  const std::size_t n = scores.cols();
  require_size(kWhere, "columns of queries", queries.cols(), dim());
  require_size(kWhere, "rows of scores", scores.rows(), queries.rows());
  if (first % kLanes != 0) {
    throw_invalid_argument(kWhere, "first key", std::to_string(first), "a multiple of " + std::to_string(kLanes));
  }
  if (first > size_ || n > size_ - first) {
    throw_invalid_argument(kWhere, "last key", std::to_string(first + n), "at most " + std::to_string(size_));
  }
  const bool has_terms = terms.rows() > 0;
  if (has_terms) {
    require_size(kWhere, "rows of terms", terms.rows(), queries.rows());
    if (terms.cols() != 1) require_size(kWhere, "columns of terms", terms.cols(), n);
  }
  require_finite(kWhere, "queries:", queries);
  if (!std::isfinite(scale)) throw_invalid_argument(kWhere, "scale", std::to_string(scale), "a finite value");

  const std::size_t whole_tiles = n / kLanes;
  const std::byte* const tiles = tiles_.data() + first / kLanes * layout_.tile_bytes();
  const std::size_t prefetch = n * layout_.tile_bytes() / kLanes > kCachedBytes ? kPrefetchBytes : 0;

  std::size_t batch = 0;
  for (std::size_t h = 0; h < queries.rows(); h += batch) {
    batch = plan_->batch(queries.rows() - h);
    const Workspace::Scope scope(work);
    const std::span<std::byte> prepared = work.take<std::byte>(plan_->query_bytes(batch));
    const std::span<float> last_tile = work.take<float>(batch * kLanes);
    std::byte* at = prepared.data();
    for (const SectionPart& part : plan_->parts()) {
      plan_->table().prepare(part.section, {queries.row(h).data() + part.first, queries.stride(), batch, scale},
                             plan_->exact(), at);
      at += kernels::query_bytes(part.section, plan_->table().arithmetic, plan_->exact(), batch);
    }

    if (has_terms) {
      for (std::size_t b = 0; b < batch; ++b) {
        const std::span<float> row = scores.row(h + b);
        if (terms.cols() == n) {
          std::ranges::copy(terms.row(h + b), row.begin());
        } else {
          std::ranges::fill(row, terms(h + b, 0));
        }
      }
    }
    const auto score_run = [&](const kernels::TileRun& run) {
      const std::byte* query = prepared.data();
      bool accumulate = run.accumulate;
      for (const SectionPart& part : plan_->parts()) {
        kernels::TileRun section_run = run;
        section_run.accumulate = accumulate;
        plan_->table().find_scorer(part.section, plan_->exact(), batch)(part.section, query, section_run);
        accumulate = true;
        query += kernels::query_bytes(part.section, plan_->table().arithmetic, plan_->exact(), batch);
      }
    };
    const std::size_t together = plan_->parts().size() == 1 ? whole_tiles : kTilesTogether;
    for (std::size_t tile = 0; tile < whole_tiles; tile += together) {
      score_run({tiles + tile * layout_.tile_bytes(), std::min(together, whole_tiles - tile),
                 scores.row(h).data() + tile * kLanes, scores.stride(), has_terms, prefetch});
    }
    if (const std::size_t rest = n % kLanes; rest > 0) {
      const std::size_t begin = whole_tiles * kLanes;
      for (std::size_t b = 0; b < batch && has_terms; ++b) {
        std::ranges::copy(scores.row(h + b).subspan(begin),
                          last_tile.begin() + static_cast<std::ptrdiff_t>(b * kLanes));
      }
      score_run({tiles + whole_tiles * layout_.tile_bytes(), 1, last_tile.data(), kLanes, has_terms, 0});
      for (std::size_t b = 0; b < batch; ++b) {
        std::ranges::copy(last_tile.subspan(b * kLanes, rest), scores.row(h + b).subspan(begin).begin());
      }
    }
  }
  if (options_.first_exact + options_.last_exact == 0) return;
  const auto score_exactly = [&](std::size_t key) {
    for (std::size_t h = 0; h < queries.rows(); ++h) {
      float score = dot_in_order(queries.row(h), exact_row(key), scale);
      if (has_terms) score += terms.cols() == n ? terms(h, key - first) : terms(h, 0);
      scores(h, key - first) = score;
    }
  };
  const std::size_t end = first + n;
  std::size_t key = first;
  for (; key < std::min(end, options_.first_exact); ++key) score_exactly(key);
  for (key = std::max(key, size_ - std::min(size_, options_.last_exact)); key < end; ++key) score_exactly(key);
}

KeyCache::KeyReach KeyCache::reach_of(std::size_t key, const SectionPart& part) const {
  const auto largest_of = [](std::span<const float> row) {
    double largest = 0;
    for (const float x : row) largest = std::max(largest, std::abs(double{x}));
    return largest;
  };
  if (is_exact(key)) return {0, largest_of(exact_row(key).subspan(part.first, part.section.dims))};
  if (format_.is_bfloat16()) {
    Matrix<float> row(1, dim());
    decode(key, row.view());
    return {largest_of(row.row(0)), largest_of(row.row(0))};
  }
  const std::span<const std::byte> tile(tiles_.data() + key / kLanes * layout_.tile_bytes(), layout_.tile_bytes());
  const auto half_at = [&](std::size_t offset) {
    return std::abs(double{half_to_float(TileLayout::get_half(tile, offset, key % kLanes))});
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
  if (first > size_ || bounds.cols() > size_ - first) {
    throw_invalid_argument(kWhere, "last key", std::to_string(first + bounds.cols()),
                           "at most " + std::to_string(size_));
  }
  for (std::size_t h = 0; h < queries.rows(); ++h) {
    for (std::size_t i = 0; i < bounds.cols(); ++i) {
      double bound = 0;
      for (const SectionPart& part : plan_->parts()) {
        const QueryNorms norms = norms_of(queries.row(h).subspan(part.first, part.section.dims));
        const KeyReach reach = reach_of(first + i, part);
        bound += reach.error_range * grid_error(part.section, plan_->exact(), norms) +
                 (norms.n / 4 + 16) * 0x1p-24 * reach.largest * norms.l1;
      }
      bounds(h, i) = static_cast<float>(std::abs(double{scale}) * bound);
    }
  }
}

}  // namespace orthant::cache

#include "orthant/transform/key_frame.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/transform/turned_moments.h"
#include "transform/row_shapes.h"

namespace orthant::transform {
KeyFrame::KeyFrame(Rope rope, Alignment alignment, std::vector<float> rotating_mean)
    : rope_(std::move(rope)), alignment_(alignment), mean_(std::move(rotating_mean)) {
  if (!mean_.empty()) require_size("KeyFrame", "size of the rotating mean", mean_.size(), rope_.dim());
}

void KeyFrame::turn_tiles(MatrixView<const float> in, std::size_t first, double sign, MatrixView<float> out) const {
  if (alignment_.tile == Alignment::kNone) return copy_rows(in, out);
  for (std::size_t row = 0; row < in.rows();) {
    const std::size_t start = alignment_.tile_start(first + row);
    const std::size_t count = std::min(in.rows() - row, start + alignment_.tile - (first + row));
    rope_.turn(in.middle_rows(row, count), sign * static_cast<double>(start), out.middle_rows(row, count));
    row += count;
  }
}

void KeyFrame::add_mean(MatrixView<float> rows, std::size_t first, float factor) const {
  if (mean_.empty()) return;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::size_t delta = first + i - alignment_.tile_start(first + i);
    rope_.add_turned(mean_, static_cast<double>(delta), factor, rows.row(i));
  }
}

void KeyFrame::mean_at(std::size_t position, std::span<float> out) const {
  require_size("KeyFrame::mean_at", "size", out.size(), rope_.dim());
  std::ranges::fill(out, 0.0F);
  add_mean(MatrixView<float>(out.data(), 1, out.size()), position, 1);
}

void KeyFrame::enter(MatrixView<const float> keys, std::size_t first, MatrixView<float> out) const {
  require_row_shapes("KeyFrame::enter", rope_.dim(), keys, out);
  turn_tiles(keys, first, -1, out);
  add_mean(out, first, -1);
}

void KeyFrame::leave(MatrixView<const float> framed, std::size_t first, MatrixView<float> keys) const {
  require_row_shapes("KeyFrame::leave", rope_.dim(), framed, keys);
  copy_rows(framed, keys);
  add_mean(keys, first, 1);
  turn_tiles(keys, first, 1, keys);
}

void KeyFrame::enter_queries(MatrixView<const float> queries, std::size_t tile_start, MatrixView<float> out) const {
  require_row_shapes("KeyFrame::enter_queries", rope_.dim(), queries, out);
  if (tile_start == 0) return copy_rows(queries, out);
  rope_.turn(queries, -static_cast<double>(tile_start), out);
}

FrameMoments frame_moments(const SecondMoments& keys, const SecondMoments& queries, const Rope& rope,
                           Alignment alignment, Centre centre, std::uint64_t context, std::uint64_t distances) {
  require_size("frame_moments", "dim of the queries", queries.dim(), keys.dim());
  require_size("frame_moments", "dim of the rope", rope.dim(), keys.dim());
  const std::size_t d = keys.dim();
  const std::uint64_t in_tile = alignment.tile == Alignment::kNone ? context : alignment.tile;
  const std::uint64_t key_spans[] = {in_tile};
  // A query at position s meets the tile of the key at t as R_{s - t0}: s - t below `distances`, t - t0 in the tile. As
  // cached (tile = 0) it is R_s, s in the context.
  std::vector<std::uint64_t> query_spans = {in_tile};
  if (alignment.tile != Alignment::kNone) query_spans.push_back(distances);

  FrameMoments out{std::vector<double>(d), keys.covariance(), queries.second_moment()};
  average_turned_moment(rope, query_spans, out.query_moment.view());
  average_turned_moment(rope, key_spans, out.key_covariance.view());
  if (centre == Centre::kRotating) return out;
  // The mean turns as well: its second moment, less what a constant mean takes off, adds to the covariance. Kept apart
  // from the covariance so far, so that a mean far larger than the spread cancels nothing of the spread.
  const std::span<const double> mean = keys.mean();
  Matrix<double> turned(d, d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) turned(i, j) = mean[i] * mean[j];
  average_turned_moment(rope, key_spans, turned.view());
  if (centre == Centre::kMean) {
    out.mean.assign(mean.begin(), mean.end());
    average_turned_mean(rope, key_spans, out.mean);
  }
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) out.key_covariance(i, j) += turned(i, j) - out.mean[i] * out.mean[j];
  return out;
}

}  // namespace orthant::transform

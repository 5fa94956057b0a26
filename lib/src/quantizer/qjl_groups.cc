#include "orthant/quantizer/qjl_groups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/norms.h"
#include "quantizer/sign_bits.h"

namespace orthant::quantizer {
namespace {

constexpr std::string_view kWhere = "QjlGroups";

}  // namespace

QjlGroups::QjlGroups(std::shared_ptr<const Sketch> sketch, std::shared_ptr<const Sketch> outlier_sketch,
                     std::size_t outliers, std::size_t group, ScaleFormat format)
    : sketch_(std::move(sketch)),
      outlier_sketch_(std::move(outlier_sketch)),
      outliers_(outliers),
      group_(group),
      format_(format) {
  require_size(kWhere, "dimension of the outliers' sketch", outlier_sketch_->dim(), dim());
  if (outliers_ == 0 || outliers_ >= dim()) {
    throw_invalid_argument(kWhere, "outlier channels", std::to_string(outliers_), "1 to " + std::to_string(dim() - 1));
  }
  if (dim() > 65536) throw_invalid_argument(kWhere, "dimension", std::to_string(dim()), "at most 65536");
  if (group_ == 0) throw_invalid_argument(kWhere, "group", "0", "1 or more");
}

QjlGroups::Part QjlGroups::inliers() const {
  return {*sketch_, 0, 2 * scale_bytes(format_), packed_bytes(sketch_->rows(), 1)};
}

QjlGroups::Part QjlGroups::outliers() const {
  const Part first = inliers();
  return {*outlier_sketch_, scale_bytes(format_), first.signs_at + first.sign_bytes,
          packed_bytes(outlier_sketch_->rows(), 1)};
}

std::size_t QjlGroups::token_bytes() const { return outliers().signs_at + outliers().sign_bytes; }

std::size_t QjlGroups::max_block_bytes() const { return outliers_ * index_bytes() + group_ * token_bytes(); }

std::size_t QjlGroups::metadata_bytes(std::size_t) const {
  return outliers_ * index_bytes() + group_ * 2 * scale_bytes(format_);
}

std::size_t QjlGroups::workspace_bytes() const {
  const std::size_t rows = std::max(sketch_->rows(), outlier_sketch_->rows());
  return Workspace::bytes_for<std::uint8_t>(dim()) + Workspace::bytes_for<double>(dim()) +
         2 * Workspace::bytes_for<float>(dim()) + Workspace::bytes_for<float>(rows) +
         std::max(sketch_->workspace_bytes(), outlier_sketch_->workspace_bytes());
}

void QjlGroups::mark_outliers(MatrixView<const float> x, std::span<std::uint8_t> marks, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<double> energy = work.take<double>(dim());
  std::ranges::fill(energy, 0.0);
  for (std::size_t t = 0; t < x.rows(); ++t) {
    for (std::size_t c = 0; c < dim(); ++c) energy[c] += static_cast<double>(x(t, c)) * static_cast<double>(x(t, c));
  }
  std::ranges::fill(marks, std::uint8_t{0});
  for (std::size_t i = 0; i < outliers_; ++i) {
    std::size_t loudest = 0;
    while (marks[loudest] != 0) ++loudest;
    for (std::size_t c = loudest + 1; c < dim(); ++c) {
      if (marks[c] == 0 && energy[c] > energy[loudest]) loudest = c;
    }
    marks[loudest] = 1;
  }
}

std::size_t QjlGroups::encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const {
  const Workspace::Scope scope(work);
  for (std::size_t t = 0; t < group_; ++t) stored_scale(format_, norm(x.row(t)), t);  // refuses what does not fit
  const std::span<std::uint8_t> marks = work.take<std::uint8_t>(dim());
  mark_outliers(x, marks, work);
  std::size_t at = 0;
  for (std::size_t c = 0; c < dim(); ++c) {
    if (marks[c] == 0) continue;
    out[at++] = static_cast<std::uint8_t>(c);
    if (index_bytes() == 2) out[at++] = static_cast<std::uint8_t>(c >> 8U);
  }
  const std::span<float> part = work.take<float>(dim());
  const std::span<float> projected = work.take<float>(std::max(sketch_->rows(), outlier_sketch_->rows()));
  for (std::size_t t = 0; t < group_; ++t) {
    const std::span<std::uint8_t> token = out.subspan(at + t * token_bytes(), token_bytes());
    for (const bool loud : {false, true}) {
      const Part code = loud ? outliers() : inliers();
      for (std::size_t c = 0; c < dim(); ++c) part[c] = (marks[c] != 0) == loud ? x(t, c) : 0.0F;
      const double length = norm(part);
      store_scale(format_, static_cast<float>(length), token.data() + code.length_at);
      divide(part, length, part);
      const std::span<float> s = projected.first(code.sketch.rows());
      code.sketch.project(part, s, work);
      store_signs(s, token.subspan(code.signs_at, code.sign_bytes));
    }
  }
  return out.size();
}

void QjlGroups::decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> marks = work.take<std::uint8_t>(dim());
  std::ranges::fill(marks, std::uint8_t{0});
  for (std::size_t i = 0; i < outliers_; ++i) {
    std::size_t channel = block[i * index_bytes()];
    if (index_bytes() == 2) channel += std::size_t{block[2 * i + 1]} << 8U;
    marks[channel] = 1;
  }
  const std::span<float> part = work.take<float>(dim());
  const std::span<float> signs = work.take<float>(std::max(sketch_->rows(), outlier_sketch_->rows()));
  for (std::size_t t = 0; t < group_; ++t) {
    const auto token = block.subspan(outliers_ * index_bytes() + t * token_bytes(), token_bytes());
    for (const bool loud : {false, true}) {
      const Part code = loud ? outliers() : inliers();
      const std::span<float> z = signs.first(code.sketch.rows());
      load_signs(token.subspan(code.signs_at, code.sign_bytes), z);
      code.sketch.project_back(z, part, work);
      const double length = static_cast<double>(load_scale(format_, token.data() + code.length_at));
      const double weight = length * code.sketch.factor();
      for (std::size_t c = 0; c < dim(); ++c) {
        if ((marks[c] != 0) == loud) x_hat(t, c) = static_cast<float>(weight * static_cast<double>(part[c]));
      }
    }
  }
}

}  // namespace orthant::quantizer

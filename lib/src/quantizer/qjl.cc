#include "orthant/quantizer/qjl.h"

#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/sign_bits.h"

namespace orthant::quantizer {

Qjl::Qjl(std::shared_ptr<const transform::Transform> rotation, std::shared_ptr<const Sketch> sketch, ScaleFormat format)
    : RotatedQuantizer(std::move(rotation), scale_bytes(format), packed_bytes(sketch->rows(), 1), format),
      sketch_(std::move(sketch)) {
  require_size("Qjl", "dimension of the sketch", sketch_->dim(), dim());
}

std::string Qjl::describe() const {
  std::string text = "qjl:" + std::to_string(sketch_->rows());
  if (sketch_->kind() != SketchKind::kGaussian) text.append(",sketch=").append(name(sketch_->kind()));
  if (format() != ScaleFormat::kHalf) text.append(",norm=").append(name(format()));
  if (rotation().describe() != "none") text.append(",rotation=").append(rotation().describe());
  return text;
}

std::size_t Qjl::scratch_bytes() const {
  return Workspace::bytes_for<float>(sketch_->rows()) + sketch_->workspace_bytes();
}

void Qjl::encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                           Workspace& work) const {
  const std::span<float> s = work.take<float>(sketch_->rows());
  sketch_->project(y, s, work);
  store_scale(format(), stored_scale(format(), length, row), packed.data());
  store_signs(s, packed.subspan(scale_bytes(format())));
}

float Qjl::decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  const std::span<float> z = work.take<float>(sketch_->rows());
  load_signs(packed.subspan(scale_bytes(format())), z);
  sketch_->project_back(z, y_hat, work);
  for (float& v : y_hat) v = static_cast<float>(sketch_->factor() * static_cast<double>(v));
  return load_scale(format(), packed.data());
}

void Qjl::estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                        Workspace& work) const {
  const std::span<float> s = work.take<float>(sketch_->rows());
  sketch_->project(p, s, work);
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const double length = load_scale(format(), packed.row(i).data());
    estimates[i] =
        static_cast<float>(length * (sketch_->factor() * dot_signs(s, packed.row(i).subspan(scale_bytes(format())))));
  }
}

}  // namespace orthant::quantizer

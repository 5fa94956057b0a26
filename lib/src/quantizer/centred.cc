#include "orthant/quantizer/centred.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

// A turned and centred key carries a few roundings of 2^-24 |x| a coordinate; 2^-20 |x| is safely above them.
constexpr double kRounding = 0x1p-20;

}  // namespace

Centred::Centred(std::vector<float> mean, std::unique_ptr<VectorQuantizer> inner)
    : WrappedQuantizer(std::move(inner)), mean_(std::move(mean)) {
  require_size("Centred", "size of the mean", mean_.size(), dim());
  check_finite(mean_, 0);
}

std::string Centred::describe() const { return inner().describe() + ",centre=mean"; }

void Centred::enter(MatrixView<const float> x, MatrixView<float> y, Workspace&) const {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double size = 0;
    double rest = 0;
    for (std::size_t j = 0; j < dim(); ++j) {
      y(i, j) = x(i, j) - mean_[j];
      size += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
      rest += static_cast<double>(y(i, j)) * static_cast<double>(y(i, j));
    }
    if (rest <= kRounding * kRounding * size) std::ranges::fill(y.row(i), 0.0F);
  }
}

void Centred::leave(MatrixView<float> x_hat, Workspace&) const {
  for (std::size_t i = 0; i < x_hat.rows(); ++i)
    for (std::size_t j = 0; j < dim(); ++j) x_hat(i, j) += mean_[j];
}

void Centred::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                       Workspace& work) const {
  inner().estimate(query, packed, estimates, work);
  double constant = 0;
  for (std::size_t j = 0; j < mean_.size(); ++j)
    constant += static_cast<double>(query[j]) * static_cast<double>(mean_[j]);
  for (float& estimate : estimates) estimate = static_cast<float>(static_cast<double>(estimate) + constant);
}

}  // namespace orthant::quantizer

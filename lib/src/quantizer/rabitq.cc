#include "orthant/quantizer/rabitq.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/describe.h"
#include "quantizer/grid_search.h"
#include "quantizer/norms.h"
#include "quantizer/row_checks.h"
#include "quantizer/sign_bits.h"

namespace orthant::quantizer {
namespace {

int checked_bits(int bits) {
  if (bits < 1 || bits > 8) throw_invalid_argument("Rabitq", "bits", std::to_string(bits), "1 to 8");
  return bits;
}

std::size_t header_bytes(int bits, const RabitqOptions& options) {
  return (options.bounds && bits > 1 ? 4 : 2) * scale_bytes(options.format);
}

std::size_t code_bytes(std::size_t dim, int bits) {
  return packed_bytes(dim, 1) + (bits > 1 ? packed_bytes(dim, bits - 1) : 0);
}

/// sqrt(d) over the best uniform step for a standard normal, 2^B levels: where the search begins. Only speed hangs on
/// it.
float first_guess(std::size_t dim, int bits) {
  constexpr double kStep[] = {1.596, 0.99569, 0.58602, 0.33520, 0.18814, 0.10406, 0.05687, 0.03076};
  return static_cast<float>(std::sqrt(static_cast<double>(dim)) / kStep[bits - 1]);
}

/// The rescale of least mean error over 100 directions. The mean of their optima, the usual constant, clips too much at
/// many bits: at d = 128 and 8 bits its error is 20 times the optimum's.
float best_common_rescale(std::size_t dim, int bits) {
  if (bits == 1) return 0;
  constexpr std::size_t kDirections = 100;
  Matrix<float> a(kDirections, dim);
  Workspace work(grid_search_bytes(dim));
  std::vector<std::uint8_t> levels(dim);
  double mean = 0;
  for (std::size_t i = 0; i < kDirections; ++i) {
    RngStream(0, claim_domain("rabitq-rescale"), i).fill_unit_vector(a.row(i));
    for (float& v : a.row(i)) v = std::abs(v);
    mean += best_levels(a.row(i), bits, first_guess(dim, bits), levels, work).rescale() / kDirections;
  }
  float best = 0;
  double best_cosines = 0;
  for (int step = -24; step <= 8; ++step) {  // from 0.38 to 1.38 of the mean, 4 % apart
    const auto tau = static_cast<float>(mean * std::pow(1.041, step));
    double cosines = 0;
    for (std::size_t i = 0; i < kDirections; ++i) {
      const GridFit fit = nearest_levels(a.row(i), bits, tau, levels);
      cosines += fit.dot * fit.dot / fit.square;
    }
    if (cosines > best_cosines) {
      best_cosines = cosines;
      best = tau;
    }
  }
  return best;
}

}  // namespace

Rabitq::Rabitq(std::shared_ptr<const transform::Transform> rotation, int bits, RabitqOptions options)
    : RotatedQuantizer(rotation, header_bytes(checked_bits(bits), options), code_bytes(rotation->dim(), bits),
                       options.format),
      bits_(bits),
      options_(options),
      rescale_(options.search == GridSearch::kFast ? best_common_rescale(dim(), bits) : first_guess(dim(), bits)),
      grid_step_(1 / (((1 << bits) - 1) * std::sqrt(static_cast<double>(dim())))) {
  const bool mse = options.rule == ScaleRule::kMse;
  if (options.rule != ScaleRule::kUnbiased && !mse) {
    throw_invalid_argument("Rabitq", "scale", name(options.rule), "unbiased or mse");
  }
  if (mse && options.bounds) throw_invalid_argument("Rabitq", "scale", "mse with bounds", "unbiased with bounds");
}

std::string Rabitq::describe() const {
  std::string text = "rabitq:" + std::to_string(bits_);
  if (options_.search == GridSearch::kFast) text += ",search=fast";
  if (options_.bounds) text += ",bounds=1";
  if (options_.rule == ScaleRule::kMse) text += ",scale=mse";
  return text + common_options(options_.format, rotation());
}

std::size_t Rabitq::scratch_bytes() const {
  return Workspace::bytes_for<float>(dim()) + Workspace::bytes_for<std::uint8_t>(dim()) + grid_search_bytes(dim());
}

std::span<const std::uint8_t> Rabitq::high_bits(std::span<const std::uint8_t> packed) const {
  return packed.subspan(metadata_bytes(), packed_bytes(dim(), 1));
}

std::span<const std::uint8_t> Rabitq::low_bits(std::span<const std::uint8_t> packed) const {
  return packed.subspan(metadata_bytes() + packed_bytes(dim(), 1));
}

void Rabitq::encode_direction(std::span<const float> y, double length, std::size_t row, std::span<std::uint8_t> packed,
                              Workspace& work) const {
  const std::span<float> a = work.take<float>(dim());
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  double sum = 0;
  for (std::size_t j = 0; j < dim(); ++j) {
    a[j] = std::abs(y[j]);
    sum += static_cast<double>(a[j]);
  }
  const GridFit fit = options_.search == GridSearch::kFast ? nearest_levels(a, bits_, rescale_, codes)
                                                           : best_levels(a, bits_, rescale_, codes, work);
  // |y| is 1 but for rounding; dividing by it keeps the cosine below 1 and vectors on the grid exact.
  const double unit = norm(y);
  const double g = fit.dot * grid_step_ / unit;
  const double square = fit.square * grid_step_ * grid_step_;

  std::uint8_t* out = packed.data();
  const auto put = [&](double value) {
    store_scale(options_.format, static_cast<float>(value), out);
    out += scale_bytes(options_.format);
  };
  put(static_cast<double>(stored_scale(options_.format, length, row)));
  put(g);
  if (numbers() == 4) {
    put(std::sqrt(std::max(0.0, square - g * g)));
    put(sum / (std::sqrt(static_cast<double>(dim())) * unit));
  }
  const std::size_t at = metadata_bytes();
  store_signs(y, packed.subspan(at, packed_bytes(dim(), 1)));
  if (bits_ == 1) return;
  // u = 2^(B-1) + m for y >= 0 and 2^(B-1) - 1 - m below: the low bits are m or its complement.
  const auto mask = static_cast<std::uint8_t>((1 << (bits_ - 1)) - 1);
  for (std::size_t j = 0; j < dim(); ++j) {
    if (y[j] < 0) codes[j] = static_cast<std::uint8_t>(mask - codes[j]);
  }
  pack_codes(codes, bits_ - 1, packed.subspan(at + packed_bytes(dim(), 1)));
}

Rabitq::Factors Rabitq::factors(std::span<const std::uint8_t> packed) const {
  const std::size_t size = scale_bytes(options_.format);
  const auto number = [&](std::size_t i) {
    return static_cast<double>(load_scale(options_.format, packed.data() + i * size));
  };
  Factors f = {number(0), number(1), 0, 0};
  if (numbers() == 4) {
    f.sine = number(2);
    f.sign_dot = number(3);
  } else if (bits_ == 1) {
    f.sine = std::sqrt(std::max(0.0, 1 - f.dot * f.dot));
    f.sign_dot = f.dot;
  }
  return f;
}

double Rabitq::grid_dot(std::span<const float> p, std::span<const std::uint8_t> packed,
                        std::span<std::uint8_t> codes) const {
  // 2 u + 1 - 2^B = 2^(B-1) z + (2 low + 1 - 2^(B-1)), z = +-1 the sign.
  const double half = 1 << (bits_ - 1);
  const double high = dot_signs(p, high_bits(packed));
  if (bits_ == 1) return high;
  unpack_codes(low_bits(packed), bits_ - 1, codes);
  double sums[4] = {};
  std::size_t j = 0;
  for (; j + 4 <= dim(); j += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      sums[i] += static_cast<double>(p[j + i]) * (2.0 * codes[j + i] + 1 - half);
    }
  }
  for (; j < dim(); ++j) sums[0] += static_cast<double>(p[j]) * (2.0 * codes[j] + 1 - half);
  return half * high + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

double Rabitq::relative_scale(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const {
  const Factors f = factors(packed);
  if (f.dot <= 0) return 0;
  if (options_.rule == ScaleRule::kUnbiased) return 1 / f.dot;
  // |2 u + 1 - 2^B| = 2 m + 1, m the low bits of a positive coordinate and their complement in a negative one.
  double square = static_cast<double>(dim());
  if (bits_ > 1) {
    const std::span<const std::uint8_t> high = high_bits(packed);
    const int top = (1 << (bits_ - 1)) - 1;
    unpack_codes(low_bits(packed), bits_ - 1, codes);
    square = 0;
    for (std::size_t j = 0; j < dim(); ++j) {
      const int m = (high[j / 8] >> j % 8 & 1) != 0 ? codes[j] : top - codes[j];
      square += (2 * m + 1) * (2 * m + 1);
    }
  }
  return f.dot / (square * grid_step_ * grid_step_);
}

float Rabitq::decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  const double step = relative_scale(packed, codes) * grid_step_;
  load_signs(high_bits(packed), y_hat);
  const double half = 1 << (bits_ - 1);
  if (bits_ > 1) {
    unpack_codes(low_bits(packed), bits_ - 1, codes);
  } else {
    std::ranges::fill(codes, std::uint8_t{0});
  }
  for (std::size_t j = 0; j < dim(); ++j) {
    y_hat[j] = static_cast<float>((half * static_cast<double>(y_hat[j]) + 2.0 * codes[j] + 1 - half) * step);
  }
  return static_cast<float>(factors(packed).length);
}

void Rabitq::estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                           Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const double factor = factors(packed.row(i)).length * relative_scale(packed.row(i), codes);
    estimates[i] = static_cast<float>(factor * (grid_dot(p, packed.row(i), codes) * grid_step_));
  }
}

void Rabitq::require_bars(const char* where) const {
  if (options_.rule != ScaleRule::kUnbiased || (bits_ > 1 && !options_.bounds)) {
    throw_invalid_argument(where, "bounds", "codes without them", "options().bounds = true");
  }
}

void Rabitq::estimate_with_bars(std::span<const float> query, MatrixView<const std::uint8_t> packed, double epsilon,
                                std::span<float> estimates, std::span<float> half_widths, Workspace& work) const {
  require_bars("estimate_with_bars");
  require_size("estimate_with_bars", "size of half_widths", half_widths.size(), packed.rows());
  estimate(query, packed, estimates, work);
  const double reach = dim() == 1 ? 0 : epsilon * norm(query) / std::sqrt(static_cast<double>(dim() - 1));
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Factors f = factors(packed.row(i));
    half_widths[i] = f.dot > 0 ? static_cast<float>(reach * f.length * (f.sine / f.dot)) : 0.0F;
  }
}

void Rabitq::first_stage(std::span<const float> query, MatrixView<const std::uint8_t> packed, double epsilon,
                         std::span<float> estimates, std::span<float> half_widths, Workspace& work) const {
  require_bars("first_stage");
  check_estimate_shapes(*this, query, packed, estimates);
  require_size("first_stage", "size of half_widths", half_widths.size(), packed.rows());
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  rotation().apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  const double root = std::sqrt(static_cast<double>(dim()));
  const double reach = dim() == 1 ? 0 : epsilon * norm(query) / std::sqrt(static_cast<double>(dim() - 1));
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Factors f = factors(packed.row(i));
    if (f.sign_dot <= 0) {
      estimates[i] = half_widths[i] = 0;
      continue;
    }
    const double sine = std::sqrt(std::max(0.0, 1 - f.sign_dot * f.sign_dot));
    estimates[i] = static_cast<float>(f.length / f.sign_dot * (dot_signs(p, high_bits(packed.row(i))) / root));
    half_widths[i] = static_cast<float>(reach * f.length * (sine / f.sign_dot));
  }
}

QuantizedQuery Rabitq::quantize_query(std::span<const float> query, int bits, RngStream rng, Workspace& work) const {
  require_size("quantize_query", "size of query", query.size(), dim());
  if (bits < 1 || bits > 8) throw_invalid_argument("quantize_query", "bits", std::to_string(bits), "1 to 8");
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  rotation().apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  const auto [low, high] = std::ranges::minmax(p);
  const int top = (1 << bits) - 1;

  QuantizedQuery q;
  q.bits = bits;
  q.low = static_cast<double>(low);
  q.step = (static_cast<double>(high) - q.low) / top;
  q.levels.resize(dim());
  const std::size_t plane = packed_bytes(dim(), 1);
  q.planes.resize(static_cast<std::size_t>(bits) * plane);
  for (std::size_t j = 0; j < dim(); ++j) {
    const double u = rng.uniform();
    const double position = q.step > 0 ? std::floor((static_cast<double>(p[j]) - q.low) / q.step + u) : 0;
    const auto level = static_cast<std::uint8_t>(std::min(position, static_cast<double>(top)));
    q.levels[j] = level;
    q.level_sum += level;
    for (std::size_t i = 0; i < static_cast<std::size_t>(bits); ++i) {
      std::uint8_t& byte = q.planes[i * plane + j / 8];
      byte = static_cast<std::uint8_t>(byte | (level >> i & 1U) << j % 8);
    }
  }
  return q;
}

void Rabitq::estimate(const QuantizedQuery& query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                      Workspace& work) const {
  require_size("estimate", "levels of the query", query.levels.size(), dim());
  require_size("estimate", "columns of packed", packed.cols(), bytes_per_vector());
  require_size("estimate", "size of estimates", estimates.size(), packed.rows());
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  const std::size_t plane = packed_bytes(dim(), 1);
  const double size = 1 << bits_;
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const std::span<const std::uint8_t> high = high_bits(packed.row(i));
    // <u, level> and sum u: the highest bits by population counts, the rest by bytes.
    std::uint64_t product = 0;
    std::uint64_t sum = 0;
    for (std::size_t byte = 0; byte < plane; ++byte) {
      sum += static_cast<std::uint64_t>(std::popcount(high[byte]));
      for (std::size_t b = 0; b < static_cast<std::size_t>(query.bits); ++b) {
        const auto both = static_cast<std::uint8_t>(high[byte] & query.planes[b * plane + byte]);
        product += static_cast<std::uint64_t>(std::popcount(both)) << b;
      }
    }
    product <<= bits_ - 1;
    sum <<= bits_ - 1;
    if (bits_ > 1) {
      unpack_codes(low_bits(packed.row(i)), bits_ - 1, codes);
      for (std::size_t j = 0; j < dim(); ++j) {
        product += std::uint64_t{codes[j]} * query.levels[j];
        sum += codes[j];
      }
    }
    const double d = static_cast<double>(dim());
    // sum_j (2 u_j + 1 - 2^B) (low + step level_j).
    const double grid = 2 * query.low * static_cast<double>(sum) + 2 * query.step * static_cast<double>(product) +
                        (1 - size) * (query.low * d + query.step * static_cast<double>(query.level_sum));
    const double factor = factors(packed.row(i)).length * relative_scale(packed.row(i), codes);
    estimates[i] = static_cast<float>(factor * (grid * grid_step_));
  }
}

}  // namespace orthant::quantizer

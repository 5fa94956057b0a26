#include "validation/written_precision.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "orthant/core/half.h"

namespace orthant::validation {
namespace {

constexpr int kMostDigits = 15;  // 16 and 17 digits are double precision

double ulp(double x, int significand_bits, int least_exponent) {
  if (x == 0) return std::ldexp(1.0, least_exponent);
  return std::ldexp(1.0, std::max(std::ilogb(x) + 1 - significand_bits, least_exponent));
}

double decimal_unit(double x, int digits) {
  return x == 0 ? 0 : std::pow(10.0, std::floor(std::log10(std::abs(x))) + 1 - digits);
}

struct Format {
  std::string name;
  std::function<double(double)> round;
  std::function<double(double)> unit;
};

std::vector<Format> formats() {
  std::vector<Format> all;
  for (int n = 2; n <= kMostDigits; ++n) {
    all.push_back({fmt::format("{} decimals", n),
                   [n](double x) { return std::strtod(fmt::format("{:.{}f}", x, n).c_str(), nullptr); },
                   [n](double) { return std::pow(10.0, -n); }});
    all.push_back({fmt::format("{} significant digits", n),
                   [n](double x) { return std::strtod(fmt::format("{:.{}e}", x, n - 1).c_str(), nullptr); },
                   [n](double x) { return decimal_unit(x, n); }});
  }
  all.push_back({"bfloat16",
                 [](double x) { return double{bfloat16_to_float(float_to_bfloat16(static_cast<float>(x)))}; },
                 [](double x) { return ulp(x, 8, -133); }});
  all.push_back({"half precision", [](double x) { return double{half_to_float(float_to_half(static_cast<float>(x)))}; },
                 [](double x) { return ulp(x, 11, -24); }});
  all.push_back({"single precision", [](double x) { return double{static_cast<float>(x)}; },
                 [](double x) { return ulp(x, 24, -149); }});
  return all;
}

}  // namespace

WrittenPrecision written_precision(std::span<const double> values) {
  WrittenPrecision best{"double precision", {}};
  for (const double x : values) best.half_units.push_back(ulp(x, 53, -1074) / 2);
  double coarsest = 0;
  for (const Format& format : formats()) {
    bool holds = true;
    double sum = 0;
    for (const double x : values) {
      holds = holds && format.round(x) == x;
      sum += format.unit(x);
    }
    if (!holds || sum <= coarsest) continue;
    coarsest = sum;
    best.name = format.name;
    for (std::size_t k = 0; k < values.size(); ++k) best.half_units[k] = format.unit(values[k]) / 2;
  }
  return best;
}

}  // namespace orthant::validation

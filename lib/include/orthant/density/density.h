#pragma once

#include <concepts>
#include <cstdint>
#include <string>

namespace orthant::density {

struct Interval {
  double lower;
  double upper;
};

/// Moments of a law over one cell, about a chosen centre c: what a Lloyd-Max step needs, without cancellation.
///   mass = P(cell),   first = E[(X - c) 1_cell],   second = E[(X - c)^2 1_cell].
/// Extended precision, because the slowest mode of the Lloyd map amplifies an error by about (2 N / pi)^2, N the
/// number of levels: 3e4 at 8 bits.
struct CellMoments {
  long double mass = 0;
  long double first = 0;
  long double second = 0;
};

/// A law of one coordinate, as scalar quantization sees it. Partial moments are over [a, b], a <= b; ends outside the
/// support, infinite ones too, are moved to it. All functions are pure and may run concurrently.
///   name()                  "sphere", "gaussian", ...
///   dim()                   d of the sphere S^{d-1}, 0 for a law without one
///   support()               the smallest closed interval of probability 1, possibly infinite
///   symmetric()             true when X and -X have the same law
///   mean(), variance()      of the law
///   pdf(x)                  density; +infinity only at an integrable pole
///   mass(a, b)              M0(b) - M0(a) = P(a <= X <= b)
///   first_moment(a, b)      M1(b) - M1(a) = E[X 1_{a <= X <= b}]
///   second_moment(a, b)     M2(b) - M2(a) = E[X^2 1_{a <= X <= b}]
///   cell_moments(c, a, b)   the same three about c, integrated locally
template <class T>
concept Density = requires(const T& law, double x, long double y) {
  { law.name() } -> std::convertible_to<std::string>;
  { law.dim() } -> std::same_as<std::int64_t>;
  { law.support() } -> std::same_as<Interval>;
  { law.symmetric() } -> std::same_as<bool>;
  { law.mean() } -> std::same_as<double>;
  { law.variance() } -> std::same_as<double>;
  { law.pdf(x) } -> std::same_as<double>;
  { law.mass(x, x) } -> std::same_as<double>;
  { law.first_moment(x, x) } -> std::same_as<double>;
  { law.second_moment(x, x) } -> std::same_as<double>;
  { law.cell_moments(y, y, y) } -> std::same_as<CellMoments>;
};

/// A reference to any Density, for code that is compiled once. The law must outlive it.
class DensityView {
 public:
  template <Density T>
  requires(!std::same_as<T, DensityView>) DensityView(const T& law)
      : law_(&law), calls_(&kCalls<T>) {}  // NOLINT(google-explicit-constructor)

  std::string name() const { return calls_->name(law_); }
  std::int64_t dim() const { return calls_->dim(law_); }
  Interval support() const { return calls_->support(law_); }
  bool symmetric() const { return calls_->symmetric(law_); }
  double mean() const { return calls_->mean(law_); }
  double variance() const { return calls_->variance(law_); }
  double pdf(double x) const { return calls_->pdf(law_, x); }
  CellMoments cell_moments(long double centre, long double a, long double b) const {
    return calls_->cell_moments(law_, centre, a, b);
  }

 private:
  struct Calls {
    std::string (*name)(const void*);
    std::int64_t (*dim)(const void*);
    Interval (*support)(const void*);
    bool (*symmetric)(const void*);
    double (*mean)(const void*);
    double (*variance)(const void*);
    double (*pdf)(const void*, double);
    CellMoments (*cell_moments)(const void*, long double, long double, long double);
  };
  template <class T>
  static const T& as(const void* law) {
    return *static_cast<const T*>(law);
  }
  template <class T>
  static constexpr Calls kCalls = {
      [](const void* law) { return std::string(as<T>(law).name()); },
      [](const void* law) { return as<T>(law).dim(); },
      [](const void* law) { return as<T>(law).support(); },
      [](const void* law) { return as<T>(law).symmetric(); },
      [](const void* law) { return as<T>(law).mean(); },
      [](const void* law) { return as<T>(law).variance(); },
      [](const void* law, double x) { return as<T>(law).pdf(x); },
      [](const void* law, long double c, long double a, long double b) { return as<T>(law).cell_moments(c, a, b); },
  };

  const void* law_;
  const Calls* calls_;
};

}  // namespace orthant::density

#pragma once

#include <arb.h>
#include <arb_hypgeom.h>

#include <cstdint>
#include <string>
#include <utility>

namespace orthant::codebook {

/// A real number known to lie in [midpoint - radius, midpoint + radius]: Arb's ball arithmetic behind operators.
/// Every operation returns a ball that holds the exact result for all points of its arguments.
class Ball {
 public:
  /// Working precision of this thread, in bits.
  static slong& precision() {
    thread_local slong bits = 320;
    return bits;
  }

  Ball() { arb_init(value_); }
  Ball(double exact) : Ball() { arb_set_d(value_, exact); }         // NOLINT(google-explicit-constructor)
  Ball(std::int64_t exact) : Ball() { arb_set_si(value_, exact); }  // NOLINT(google-explicit-constructor)
  Ball(int exact) : Ball(std::int64_t{exact}) {}                    // NOLINT(google-explicit-constructor)
  Ball(const Ball& other) : Ball() { arb_set(value_, other.value_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(value_, other.value_); }
  ~Ball() { arb_clear(value_); }
  Ball& operator=(Ball other) noexcept {
    arb_swap(value_, other.value_);
    return *this;
  }

  /// The ball of a decimal number; not finite when the text is none.
  static Ball decimal(const std::string& text) {
    Ball b;
    if (arb_set_str(b.value_, text.c_str(), precision()) != 0) arb_indeterminate(b.value_);
    return b;
  }
  static Ball pi() {
    return made([](arb_t r) { arb_const_pi(r, precision()); });
  }

  friend Ball operator+(const Ball& a, const Ball& b) {
    return made([&](arb_t r) { arb_add(r, a.value_, b.value_, precision()); });
  }
  friend Ball operator-(const Ball& a, const Ball& b) {
    return made([&](arb_t r) { arb_sub(r, a.value_, b.value_, precision()); });
  }
  friend Ball operator*(const Ball& a, const Ball& b) {
    return made([&](arb_t r) { arb_mul(r, a.value_, b.value_, precision()); });
  }
  friend Ball operator/(const Ball& a, const Ball& b) {
    return made([&](arb_t r) { arb_div(r, a.value_, b.value_, precision()); });
  }
  friend Ball operator-(const Ball& a) {
    return made([&](arb_t r) { arb_neg(r, a.value_); });
  }
  friend Ball sqrt(const Ball& a) {
    return made([&](arb_t r) { arb_sqrt(r, a.value_, precision()); });
  }
  friend Ball exp(const Ball& a) {
    return made([&](arb_t r) { arb_exp(r, a.value_, precision()); });
  }
  friend Ball log(const Ball& a) {
    return made([&](arb_t r) { arb_log(r, a.value_, precision()); });
  }
  friend Ball asin(const Ball& a) {
    return made([&](arb_t r) { arb_asin(r, a.value_, precision()); });
  }
  friend Ball erf(const Ball& a) {
    return made([&](arb_t r) { arb_hypgeom_erf(r, a.value_, precision()); });
  }
  friend Ball log_gamma(const Ball& a) {
    return made([&](arb_t r) { arb_lgamma(r, a.value_, precision()); });
  }
  friend Ball abs(const Ball& a) {
    return made([&](arb_t r) { arb_abs(r, a.value_); });
  }

  /// The midpoint as an exact ball.
  Ball middle() const {
    return made([&](arb_t r) { arb_get_mid_arb(r, value_); });
  }
  /// The same midpoint, the radius larger by every point of |by|.
  Ball widened(const Ball& by) const {
    Ball b(*this);
    arb_add_error(b.value_, by.value_);
    return b;
  }

  /// True when it holds for all points of both balls.
  friend bool certainly_less(const Ball& a, const Ball& b) { return arb_lt(a.value_, b.value_) != 0; }
  bool finite() const { return arb_is_finite(value_) != 0; }
  double to_double() const { return arf_get_d(arb_midref(value_), ARF_RND_NEAR); }
  /// The doubles nearest to the lower and the upper end.
  std::pair<double, double> nearest_doubles() const {
    arf_t end;
    arf_init(end);
    arb_get_lbound_arf(end, value_, precision());
    const double low = arf_get_d(end, ARF_RND_NEAR);
    arb_get_ubound_arf(end, value_, precision());
    const double high = arf_get_d(end, ARF_RND_NEAR);
    arf_clear(end);
    return {low, high};
  }

 private:
  template <class Fill>
  static Ball made(Fill fill) {
    Ball b;
    fill(b.value_);
    return b;
  }

  arb_t value_;
};

}  // namespace orthant::codebook

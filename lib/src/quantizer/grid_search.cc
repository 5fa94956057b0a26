#include "quantizer/grid_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "transform/wide_vector.h"

namespace orthant::quantizer {
namespace {

/// The path at one tau: sums in float over 64 coordinates at a time, then in double: good to about 2^-20.
struct PathPoint {
  float tau = 0;
  double dot = 0;
  double square = 0;
  double levels = 0;  // sum_j m_j: crossings so far
  double value() const { return dot * dot / square; }
};

struct Crossing {
  double tau;
  std::uint32_t coordinate;
  std::uint32_t level;  // m, the level it rises to
};

using transform::Floats;
using transform::WideVector;
using Quad = Floats<4>;

// Sixteen lanes for every target, written out because compilers keep the order of float sums: the same bits on each.
constexpr std::size_t kLanes = 16;
template <std::size_t kWidth>
using Lanes = Floats<kWidth>[kLanes / kWidth];
constexpr std::size_t kRun = 64;
/// Crossings that are sorted rather than halved again: sorting them costs about what another look at the path does.
constexpr double kFewCrossings = 16;
constexpr double kMargin = 0x1p-18;

std::size_t padded(std::size_t dim) { return (dim + kRun - 1) / kRun * kRun; }

/// Adds the lanes of one run to a sum in double, four quads first.
template <class Sixteen>
ORTHANT_ALWAYS_INLINE void add_lanes(const Sixteen& lanes, double& sum) {
  Quad quads[kLanes / 4];
  std::memcpy(quads, &lanes, sizeof quads);
  const Quad quad = (quads[0] + quads[1]) + (quads[2] + quads[3]);
  sum += (static_cast<double>(quad[0]) + static_cast<double>(quad[1])) +
         (static_cast<double>(quad[2]) + static_cast<double>(quad[3]));
}

/// a is padded with zeros, which stay at m = 0; sum = sum_j a_j.
template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE PathPoint look_at(std::span<const float> a, std::size_t dim, double sum, float top, float tau) {
  using Vector = Floats<kWidth>;
  const Vector tops = Vector{} + top;
  double m_a = 0;
  double m_m = 0;
  double m = 0;
  for (std::size_t first = 0; first < a.size(); first += kRun) {
    Lanes<kWidth> dot = {};
    Lanes<kWidth> square = {};
    Lanes<kWidth> levels = {};
    for (std::size_t j = first; j < first + kRun; j += kLanes) {
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kLanes / kWidth; ++v) {
        Vector value;
        transform::load(value, a.data() + j + v * kWidth);
        const Vector scaled = value * tau;
        const Vector level = __builtin_convertvector(
            __builtin_convertvector(scaled < tops ? scaled : tops, typename WideVector<kWidth>::Words), Vector);
        dot[v] += level * value;
        square[v] += level * level;
        levels[v] += level;
      }
    }
    add_lanes(dot, m_a);
    add_lanes(square, m_m);
    add_lanes(levels, m);
  }
  // k = 2 m + 1.
  return {tau, 2 * m_a + sum, 4 * (m_m + m) + static_cast<double>(dim), m};
}

using Look = PathPoint (*)(std::span<const float> a, std::size_t dim, double sum, float top, float tau);

PathPoint look_plain(std::span<const float> a, std::size_t dim, double sum, float top, float tau) {
  return look_at<transform::kWidthPortable>(a, dim, sum, top, tau);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) PathPoint look_avx2(std::span<const float> a, std::size_t dim, double sum, float top,
                                                    float tau) {
  return look_at<transform::kWidthAvx2>(a, dim, sum, top, tau);
}
__attribute__((target("avx512f"))) PathPoint look_avx512(std::span<const float> a, std::size_t dim, double sum,
                                                         float top, float tau) {
  return look_at<transform::kWidthAvx512>(a, dim, sum, top, tau);
}
Look choose_look() {
  return __builtin_cpu_supports("avx512f") ? look_avx512 : __builtin_cpu_supports("avx2") ? look_avx2 : look_plain;
}
#else
Look choose_look() { return look_plain; }
#endif

PathPoint look(std::span<const float> a, std::size_t dim, double sum, float top, float tau) {
  static const Look kLook = choose_look();
  return kLook(a, dim, sum, top, tau);
}

bool before(const Crossing& x, const Crossing& y) {
  return x.tau < y.tau || (x.tau == y.tau && x.coordinate < y.coordinate);
}

/// Crossings are spread about evenly over [left, right]: equal buckets first, then insertion among neighbours.
/// Comparing alone would cost a mispredicted branch every other time.
void sort_by_tau(std::span<Crossing> crossings, std::span<Crossing> spare, double left, double right) {
  constexpr std::size_t kBuckets = 128;
  if (crossings.size() > 8 * kBuckets || !(right > left)) {
    std::ranges::sort(crossings, before);
    return;
  }
  const double per_tau = (kBuckets - 1) / (right - left);
  const auto bucket_of = [&](const Crossing& crossing) {
    return static_cast<std::size_t>(std::clamp((crossing.tau - left) * per_tau, 0.0, kBuckets - 1.0));
  };
  std::uint16_t begin[kBuckets + 1] = {};
  for (const Crossing& crossing : crossings) ++begin[bucket_of(crossing) + 1];
  for (std::size_t b = 0; b < kBuckets; ++b) begin[b + 1] = static_cast<std::uint16_t>(begin[b + 1] + begin[b]);
  for (const Crossing& crossing : crossings) spare[begin[bucket_of(crossing)]++] = crossing;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    std::size_t at = i;
    for (; at > 0 && before(spare[i], crossings[at - 1]); --at) crossings[at] = crossings[at - 1];
    crossings[at] = spare[i];
  }
}

class Search {
 public:
  Search(std::span<const float> a, int bits, std::span<std::uint8_t> levels, Workspace& work)
      : dim_(a.size()),
        top_(static_cast<float>((1 << (bits - 1)) - 1)),
        levels_(levels),
        padded_(work.take<float>(padded(a.size()))),
        start_(work.take<std::uint8_t>(a.size())),
        crossings_(work.take<Crossing>(2 * a.size() + 64)),
        spare_(work.take<Crossing>(2 * a.size() + 64)) {
    for (const float value : a) sum_ += static_cast<double>(value);
    std::ranges::copy(a, padded_.begin());
    std::fill(padded_.begin() + static_cast<std::ptrdiff_t>(dim_), padded_.end(), 0.0F);
  }

  GridFit run(float guess) {
    PathPoint near = at(guess);
    for (int i = 0; i < 3; ++i) near = at(static_cast<float>(near.square / (2 * near.dot)));
    // Around the fixed point the bound is tight for intervals of a tenth; far from it wide ones are dropped as well.
    PathPoint left = at(0);
    for (const float ratio : {0.5F, 0.7F, 0.82F, 0.92F, 1.0F, 1.09F, 1.2F, 1.4F, 2.0F}) {
      const PathPoint right = at(near.tau * ratio);
      between(left, right);
      left = right;
    }
    const PathPoint end = at(std::numeric_limits<float>::max());
    while (left.levels < end.levels && beyond(left, end)) {
      const PathPoint right = at(std::min(left.tau * 2, std::numeric_limits<float>::max()));
      between(left, right);
      left = right;
    }
    flush();
    return best_;
  }

 private:
  PathPoint at(float tau) {
    const PathPoint point = look(padded_, dim_, sum_, top_, tau);
    seen_ = std::max(seen_, point.value());
    return point;
  }

  bool worthwhile(double bound) const { return bound * (1 + kMargin) >= seen_; }

  /// False when no point between can reach the best seen.
  bool can_hold_best(const PathPoint& left, const PathPoint& right) const {
    if (worthwhile(left.value()) || worthwhile(right.value())) return true;
    const double low = 4 * static_cast<double>(left.tau);
    const double high = 4 * static_cast<double>(right.tau);
    // Where the two lines meet; any g between the ends would do for the bound.
    const double meeting = (left.square - right.square + high * right.dot - low * left.dot) / (high - low);
    const double g = std::clamp(meeting, left.dot, std::max(left.dot, right.dot));
    const double h = std::min(left.square + low * (g - left.dot), right.square - high * (right.dot - g));
    return h <= 0 || worthwhile(g * g / h);
  }

  /// The same from left.tau on, with no right end: dot is at most that of the end of the path.
  bool beyond(const PathPoint& left, const PathPoint& end) const {
    const double h = left.square + 4 * static_cast<double>(left.tau) * (end.dot - left.dot);
    return worthwhile(left.value()) || worthwhile(end.dot * end.dot / h);
  }

  void between(const PathPoint& left, const PathPoint& right) {
    if (left.tau >= right.tau || !can_hold_best(left, right)) return;
    // Below a relative width of 2^-18 no coordinate crosses twice: the crossings fit the buffer.
    if (right.levels - left.levels <= kFewCrossings || right.tau <= left.tau * (1 + 0x1p-18F)) {
      keep(left, right);
      return;
    }
    const PathPoint middle = at(left.tau == 0 ? right.tau / 2 : std::sqrt(left.tau) * std::sqrt(right.tau));
    between(left, middle);
    between(middle, right);
  }

  /// Intervals to be walked are put together while they touch and their crossings fit.
  void keep(const PathPoint& left, const PathPoint& right) {
    const bool touches = has_kept_ && kept_right_.tau == left.tau;
    if (touches && right.levels - kept_left_.levels <= static_cast<double>(dim_)) {
      kept_right_ = right;
      return;
    }
    flush();
    has_kept_ = true;
    kept_left_ = left;
    kept_right_ = right;
  }

  void flush() {
    if (has_kept_) walk(kept_left_.tau, kept_right_.tau);
    has_kept_ = false;
  }

  /// The point at tau = left and every crossing up to right, in order. Products tau a are exact in double.
  void walk(double left, double right) {
    const double top = top_;
    double dot = 0;
    int square = 0;
    std::size_t count = 0;
    for (std::size_t j = 0; j < dim_; ++j) {
      const double a = padded_[j];
      const int from = static_cast<int>(std::min(left * a, top));
      const int to = static_cast<int>(std::min(right * a, top));
      start_[j] = static_cast<std::uint8_t>(from);
      dot += from * a;
      square += from * (from + 1);
      for (int m = from + 1; m <= to; ++m) {
        assert(count < crossings_.size());
        crossings_[count++] = {m / a, static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(m)};
      }
    }
    const std::span<Crossing> crossings = crossings_.first(count);
    sort_by_tau(crossings, spare_, left, right);
    GridFit here = {2 * dot + sum_, 4.0 * square + static_cast<double>(dim_)};
    GridFit best_here = here;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double a = padded_[crossings[i].coordinate];
      here.dot += 2 * a;
      here.square += 8.0 * crossings[i].level;  // (2m+1)^2 - (2m-1)^2
      if (better(here, best_here)) {
        best_here = here;
        taken = i + 1;
      }
    }
    if (best_.square > 0 && !better(best_here, best_)) return;
    best_ = best_here;
    seen_ = std::max(seen_, best_.dot * best_.dot / best_.square);
    std::ranges::copy(start_, levels_.begin());
    for (const Crossing& crossing : crossings.first(taken)) ++levels_[crossing.coordinate];
  }

  static bool better(const GridFit& x, const GridFit& y) { return x.dot * x.dot * y.square > y.dot * y.dot * x.square; }

  std::size_t dim_;
  double sum_ = 0;
  float top_;
  std::span<std::uint8_t> levels_;
  std::span<float> padded_;
  std::span<std::uint8_t> start_;
  std::span<Crossing> crossings_;
  std::span<Crossing> spare_;
  double seen_ = 0;  // largest value of any point looked at
  GridFit best_;     // best point walked over
  bool has_kept_ = false;
  PathPoint kept_left_;
  PathPoint kept_right_;
};

}  // namespace

GridFit nearest_levels(std::span<const float> a, int bits, float tau, std::span<std::uint8_t> levels) {
  assert(a.size() == levels.size());
  const auto top = static_cast<float>((1 << (bits - 1)) - 1);
  GridFit fit;
  for (std::size_t j = 0; j < a.size(); ++j) {
    levels[j] = static_cast<std::uint8_t>(std::min(a[j] * tau, top));
    const double k = 2.0 * levels[j] + 1;
    fit.dot += k * static_cast<double>(a[j]);
    fit.square += k * k;
  }
  return fit;
}

GridFit best_levels(std::span<const float> a, int bits, float guess, std::span<std::uint8_t> levels, Workspace& work) {
  assert(a.size() == levels.size());
  if (bits == 1) return nearest_levels(a, bits, 0, levels);
  const Workspace::Scope scope(work);
  return Search(a, bits, levels, work).run(guess);
}

std::size_t grid_search_bytes(std::size_t dim) {
  return Workspace::bytes_for<float>(padded(dim)) + Workspace::bytes_for<std::uint8_t>(dim) +
         2 * Workspace::bytes_for<Crossing>(2 * dim + 64);
}

}  // namespace orthant::quantizer

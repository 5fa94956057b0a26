#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace orthant::codebook {

/// One row of a dynamic programme whose costs have the quadrangle inequality,
///   best[j] = min over i of before[i] + cost(i, j),  i in [first, last], i < j,  for every j in [low, high],
/// with the lowest minimising i in from[j]. That minimiser does not fall as j grows, so halving the range of j halves
/// the range of i: O((last - first + high - low) log) calls of cost (Wu 1991; Groenlund et al. 2017).
template <class Cost, class Index>
void monotone_minimum(const Cost& cost, const std::vector<long double>& before, std::size_t low, std::size_t high,
                      std::size_t first, std::size_t last, std::vector<long double>& best, std::vector<Index>& from) {
  if (low > high) return;
  const std::size_t j = std::midpoint(low, high);
  long double least = std::numeric_limits<long double>::infinity();
  std::size_t where = first;
  for (std::size_t i = first; i <= std::min(last, j - 1); ++i) {
    const long double total = before[i] + cost(i, j);
    if (total < least) {
      least = total;
      where = i;
    }
  }
  best[j] = least;
  from[j] = static_cast<Index>(where);
  if (low < j) monotone_minimum(cost, before, low, j - 1, first, where, best, from);
  if (j < high) monotone_minimum(cost, before, j + 1, high, where, last, best, from);
}

}  // namespace orthant::codebook

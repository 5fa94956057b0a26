#include "orthant/codebook/huffman.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <queue>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::codebook {

std::vector<int> huffman_lengths(std::span<const double> probabilities) {
  if (probabilities.empty()) throw_invalid_argument("huffman_lengths", "symbols", "none", "at least one");
  for (const double p : probabilities) {
    if (!(p >= 0 && std::isfinite(p))) {
      throw_invalid_argument("huffman_lengths", "a probability", fmt::format("{}", p), "a number from 0 on");
    }
  }
  const std::size_t n = probabilities.size();
  std::vector<std::size_t> parent(2 * n - 1, 0);
  using Node = std::pair<double, std::size_t>;  // ties go to the older node: the same tree everywhere
  std::priority_queue<Node, std::vector<Node>, std::greater<>> open;
  for (std::size_t k = 0; k < n; ++k) open.emplace(probabilities[k], k);
  for (std::size_t joined = n; joined < 2 * n - 1; ++joined) {
    const Node a = open.top();
    open.pop();
    const Node b = open.top();
    open.pop();
    parent[a.second] = joined;
    parent[b.second] = joined;
    open.emplace(a.first + b.first, joined);
  }
  std::vector<int> depth(2 * n - 1, 0);
  for (std::size_t node = 2 * n - 2; node > 0; --node) depth[node - 1] = depth[parent[node - 1]] + 1;
  depth.resize(n);
  return depth;
}

double huffman_rate(std::span<const double> probabilities) {
  const std::vector<int> lengths = huffman_lengths(probabilities);
  double rate = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) rate += probabilities[k] * lengths[k];
  return rate;
}

}  // namespace orthant::codebook

#pragma once

#include <span>
#include <vector>

namespace orthant::codebook {

/// Lengths of an optimal binary prefix code (Huffman 1952) for symbols of these probabilities, in their order; 0 for a
/// single symbol. Throws InvalidArgument for an empty list and for a probability that is negative or not finite.
std::vector<int> huffman_lengths(std::span<const double> probabilities);

/// sum p_k length_k, bits a symbol.
double huffman_rate(std::span<const double> probabilities);

}  // namespace orthant::codebook

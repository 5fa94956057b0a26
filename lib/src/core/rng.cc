#include "orthant/core/rng.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "orthant/core/error.h"

namespace orthant {
namespace {

template <class T>
void normalized_normals(RngStream& rng, std::span<T> out) {
  // Kept in double until the end, so that a float vector is the rounding of a unit vector.
  std::vector<double> z(out.size());
  double square = 0;
  do {
    rng.fill_normal(z);
    square = 0;
    for (const double v : z) square += v * v;
  } while (square == 0);
  const double norm = std::sqrt(square);
  for (std::size_t j = 0; j < z.size(); ++j) out[j] = static_cast<T>(z[j] / norm);
}

}  // namespace

std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const r123::Philox4x32 bijection;  // ten rounds by default
  const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const auto out = bijection(c, k);
  return {out[0], out[1], out[2], out[3]};
}

RngStream::RngStream(std::uint64_t seed, Domain domain, std::uint64_t trial)
    : seed_(seed), trial_(trial), domain_(domain) {}

std::uint32_t RngStream::next_u32() {
  if (position_ == 4) {
    if (block_ >> 32 != 0) throw Error("RngStream: more than 2^34 words drawn from one stream; use more trials");
    words_ = philox_block({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(domain_),
                           static_cast<std::uint32_t>(trial_), static_cast<std::uint32_t>(trial_ >> 32)},
                          {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    ++block_;
    position_ = 0;
  }
  return words_[position_++];
}

std::uint64_t RngStream::next_u64() {
  const std::uint64_t low = next_u32();
  return low | std::uint64_t{next_u32()} << 32;
}

double RngStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

std::uint64_t RngStream::below(std::uint64_t n) {
  if (n == 0) throw InvalidArgument("RngStream::below: got n = 0, expected n >= 1");
  __extension__ using u128 = unsigned __int128;
  u128 product = u128{next_u64()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) product = u128{next_u64()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RngStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double u = 1 - uniform();  // in (0, 1]: the logarithm is finite
  const double angle = 2 * std::numbers::pi * uniform();
  const double radius = std::sqrt(-2 * std::log(u));
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void RngStream::fill_signs(std::span<float> out) {
  for (std::size_t j = 0; j < out.size(); j += 32) {
    std::uint32_t word = next_u32();
    for (std::size_t i = j; i < out.size() && i < j + 32; ++i, word >>= 1) out[i] = (word & 1) != 0 ? -1.0F : 1.0F;
  }
}

void RngStream::fill_normal(std::span<double> out) {
  for (double& z : out) z = normal();
}

void RngStream::fill_normal(std::span<float> out) {
  for (float& z : out) z = static_cast<float>(normal());
}

void RngStream::fill_unit_vector(std::span<float> out) { normalized_normals(*this, out); }

void RngStream::fill_unit_vector(std::span<double> out) { normalized_normals(*this, out); }

}  // namespace orthant

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace orthant {

/// What a stream is for. Streams of different domains never share a counter, so a rotation and the data it is tried
/// on stay independent even when a user gives both the same seed.
enum class Domain : std::uint32_t {
  kData = 1,           ///< test vectors, queries, synthetic tensors
  kRotation = 2,       ///< Haar matrices, Hadamard signs, Kac angles
  kSketch = 3,         ///< QJL projections
  kQueryRounding = 4,  ///< randomized rounding of queries
  kClaim = 5,          ///< Monte-Carlo trials of a claim; see claim_domain
};

/// The domain of a named claim or experiment: a 32-bit FNV-1a hash with the top bit set, apart from the list above.
constexpr Domain claim_domain(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<Domain>(hash | 0x80000000U);
}

/// Philox4x32-10 (Salmon et al., SC 2011): the 10-round bijection of a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Counter-based stream of random numbers: a pure function of (seed, domain, trial).
///   key = seed;  counter = (block, domain, trial low, trial high);  blocks 0, 1, ... of four 32-bit words.
/// Two streams that differ in seed, domain or trial share no counter-key pair. A stream holds 2^34 words; reading on
/// throws Error. Cheap to construct and copy; one stream serves one thread.
class RngStream {
 public:
  RngStream(std::uint64_t seed, Domain domain, std::uint64_t trial);

  std::uint32_t next_u32();
  /// First word drawn is the low half.
  std::uint64_t next_u64();
  /// Uniform on [0, 1): multiples of 2^-53.
  double uniform();
  /// Uniform on {0, ..., n - 1}, n >= 1, without modulo bias (Lemire 2019).
  std::uint64_t below(std::uint64_t n);
  /// Standard normal by Box-Muller: |z| < 8.58; draws come in pairs, the second is kept for the next call.
  double normal();
  /// +1 or -1 with equal probability; one word serves 32 signs.
  void fill_signs(std::span<float> out);
  void fill_normal(std::span<double> out);
  void fill_normal(std::span<float> out);
  /// A uniform point on the unit sphere S^{d-1}, d = out.size() >= 1.
  void fill_unit_vector(std::span<float> out);
  void fill_unit_vector(std::span<double> out);

 private:
  std::uint64_t seed_;
  std::uint64_t trial_;
  std::uint64_t block_ = 0;
  Domain domain_;
  unsigned position_ = 4;
  std::array<std::uint32_t, 4> words_{};
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace orthant

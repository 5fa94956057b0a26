#include "orthant/transform/make_rotation.h"

#include <charconv>
#include <optional>
#include <string>

#include "orthant/core/error.h"
#include "orthant/transform/fast_rotation.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/identity.h"

namespace orthant::transform {
namespace {

/// The number after "name:", or nothing when spec is not "name:<decimal number>".
std::optional<int> parameter(std::string_view spec, std::string_view name) {
  if (!spec.starts_with(name) || spec.size() <= name.size() + 1 || spec[name.size()] != ':') return std::nullopt;
  const std::string_view digits = spec.substr(name.size() + 1);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 1) return std::nullopt;
  return value;
}

std::shared_ptr<const Rotation> share(FastRotation rotation) {
  return std::make_shared<const FastRotation>(std::move(rotation));
}

}  // namespace

std::shared_ptr<const Rotation> make_rotation(std::string_view spec, std::size_t dim, std::uint64_t seed,
                                              std::uint64_t index) {
  if (spec == "haar") return std::make_shared<const Haar>(dim, seed, index);
  if (spec == "none") return std::make_shared<const Identity>(dim);
  if (spec == "fht-kac") return share(fht_kac(dim, seed, index));
  if (spec == "hadamard") return share(plain_hadamard(dim));
  if (const auto rounds = parameter(spec, "hadamard")) return share(randomized_hadamard(dim, *rounds, seed, index));
  if (const auto rounds = parameter(spec, "kac")) return share(kac_walk(dim, *rounds, seed, index));
  if (const auto block = parameter(spec, "block-hadamard")) {
    return share(block_hadamard(dim, static_cast<std::size_t>(*block), seed, index));
  }
  throw_invalid_argument("rotation", "name", std::string(spec),
                         "haar, hadamard:R, kac:R, fht-kac, block-hadamard:B, hadamard or none");
}

}  // namespace orthant::transform

#include "key_rows.h"

#include <cmath>
#include <span>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/kv/npy.h"
#include "orthant/kv/safetensors.h"

namespace orthant::apps {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";

std::string names_of(const kv::Safetensors& file) {
  std::string names;
  for (const kv::TensorInfo& tensor : file.tensors()) names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

kv::NpyArray<float> read_tensor(const std::string& path, const std::string& name) {
  const kv::Safetensors file = kv::Safetensors::open(path);
  const kv::TensorInfo* tensor = file.find(name);
  if (tensor == nullptr) throw_invalid_input(path, "tensor", '"' + name + '"', "one of " + names_of(file));
  kv::NpyArray<float> array{tensor->shape, std::vector<float>(tensor->elements)};
  file.read_floats(*tensor, 0, array.values);
  return array;
}

}  // namespace

KeyRows read_key_rows(const std::string& text) {
  KeyRows keys;
  keys.path = text;
  kv::NpyArray<float> array;
  const std::size_t end = text.find(kSafetensors);
  if (end != std::string::npos) {
    const std::size_t stop = end + kSafetensors.size();
    keys.path = text.substr(0, stop);
    array = read_tensor(keys.path, stop < text.size() ? text.substr(stop + 1) : std::string());
  } else {
    array = kv::read_npy<float>(text);
  }
  if (array.shape.size() < 2) {
    throw_invalid_input(text, "axes", std::to_string(array.shape.size()), "2 or more: the last one the coordinates");
  }
  const std::size_t d = array.shape.back();
  const std::size_t n = d == 0 ? 0 : array.values.size() / d;
  std::vector<float> kept;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = std::span<const float>(array.values).subspan(i * d, d);
    double square = 0;
    for (const float x : row) square += static_cast<double>(x) * static_cast<double>(x);
    if (!std::isfinite(square))
      throw_invalid_input(text, "row " + std::to_string(i), "NaN or infinity", "finite numbers");
    if (square == 0) {
      ++keys.left_out;
      continue;
    }
    for (const float x : row) kept.push_back(static_cast<float>(static_cast<double>(x) / std::sqrt(square)));
  }
  if (kept.empty()) throw_invalid_input(text, "rows", "none that is not zero", "one at least");
  keys.rows = Matrix<float>(kept.size() / d, d);
  std::copy(kept.begin(), kept.end(), keys.rows.data());
  return keys;
}

}  // namespace orthant::apps

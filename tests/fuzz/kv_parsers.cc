#include "fuzz/kv_parsers.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/kv/dump.h"
#include "orthant/kv/npy.h"
#include "orthant/kv/safetensors.h"

namespace orthant::kv {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

Safetensors parse(std::span<const std::uint8_t> bytes) {
  return Safetensors::from_bytes({bytes.begin(), bytes.end()}, "input");
}

bool is_float(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;
}

}  // namespace

bool try_safetensors(std::span<const std::uint8_t> bytes) {
  try {
    const Safetensors file = parse(bytes);
    std::size_t total = 0;
    for (const TensorInfo& tensor : file.tensors()) {
      const auto data = file.bytes(tensor);
      require(data.size() == tensor.elements * element_bytes(tensor.type), "size of a tensor");
      total += data.size();
      if (!is_float(tensor.type)) continue;
      std::vector<float> values(tensor.elements);
      file.read_floats(tensor, 0, values);
    }
    require(total <= bytes.size(), "tensors fit in the file");
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

bool try_dump(std::span<const std::uint8_t> bytes) {
  try {
    const Dump dump(parse(bytes));
    for (std::size_t l = 0; l < dump.layers().size(); ++l) {
      const DumpLayer& layer = dump.layers()[l];
      require(layer.kv_heads > 0 && layer.q_heads == layer.kv_heads * layer.group_size(), "whole groups");
      require(layer.query_tokens > 0 && layer.query_tokens <= dump.tokens(), "queries belong to tokens");
      for (std::size_t i = 0; i < dump.tokens(); ++i) require(layer.first_visible(i) <= i, "a query sees itself");
      dump.require_finite(l);
    }
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

bool try_npy(std::span<const std::uint8_t> bytes) {
  try {
    const NpyArray<double> array = parse_npy<double>(bytes, "input");
    std::size_t product = 1;
    for (const std::size_t size : array.shape) product *= size;
    require(product == array.values.size(), "one value for each element");
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

}  // namespace orthant::kv

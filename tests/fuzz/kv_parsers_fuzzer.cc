#include "fuzz/kv_parsers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  orthant::kv::try_safetensors(bytes);
  orthant::kv::try_dump(bytes);
  orthant::kv::try_npy(bytes);
  return 0;
}

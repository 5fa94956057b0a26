#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/core/error.h"

namespace orthant::kv {

inline std::vector<std::uint8_t> to_bytes(std::string_view text) { return {text.begin(), text.end()}; }

/// A safetensors file with this header and `data_bytes` zeros.
inline std::vector<std::uint8_t> safetensors_file(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::vector<std::uint8_t> file(sizeof length + header.size() + data_bytes);
  std::memcpy(file.data(), &length, sizeof length);
  std::copy(header.begin(), header.end(), file.begin() + sizeof length);
  return file;
}

/// The message of the InvalidInput that `call` throws, or "" when it throws none.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

}  // namespace orthant::kv

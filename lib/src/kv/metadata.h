#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/kv/safetensors.h"
#include "orthant/transform/rope.h"

namespace orthant::kv {

/// Typed access to the metadata strings; errors name file and field.
class Metadata {
 public:
  explicit Metadata(const Safetensors& file) : file_(file) {}

  [[noreturn]] void refuse(std::string_view key, std::string_view got, std::string_view expected) const {
    throw_invalid_input(file_.name(), "metadata " + std::string(key), got, expected);
  }

  const std::string& text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) refuse(key, "nothing", "a value");
    return found->second;
  }

  template <class T>
  T number(std::string_view key, std::string_view text, std::string_view expected) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) refuse(key, "'" + std::string(text) + "'", expected);
    return value;
  }

  double positive(std::string_view key, std::string_view text) const {
    const auto value = number<double>(key, text, "a positive number");
    if (!(value > 0) || !std::isfinite(value)) refuse(key, text, "a positive number");
    return value;
  }

  std::vector<std::string_view> list(const std::string& key) const {
    std::vector<std::string_view> items;
    std::string_view rest = text(key);
    while (true) {
      const std::size_t comma = rest.find(',');
      items.push_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) return items;
      rest.remove_prefix(comma + 1);
    }
  }

  /// A list with one entry for each layer.
  std::vector<std::string_view> list(const std::string& key, std::size_t layers) const {
    auto items = list(key);
    if (items.size() != layers) refuse(key, std::to_string(items.size()) + " entries", std::to_string(layers));
    return items;
  }

  transform::RopeLayout rope_layout() const {
    const std::string& name = text("rope_layout");
    if (name == "none") return transform::RopeLayout::kNone;
    if (name == "half") return transform::RopeLayout::kHalf;
    if (name == "interleaved") return transform::RopeLayout::kInterleaved;
    refuse("rope_layout", "'" + name + "'", "half, interleaved or none");
  }

 private:
  const Safetensors& file_;
};

}  // namespace orthant::kv

#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace orthant::cache {

/// Growing memory for tiles: 64-byte aligned, new bytes zero, in large pages where the system offers them.
/// Growing is geometric and copies whole tiles; codes are never packed again.
class TileBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

  void reserve(std::size_t bytes);
  /// Grows to `bytes` bytes, at least size().
  void grow(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace orthant::cache

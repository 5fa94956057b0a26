#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace orthant::cache {

/// Growing memory for tiles: 64-byte aligned, new bytes zero, in large pages where the system offers them.
/// Growing is geometric and copies whole tiles; codes are never packed again. Or a view of bytes that another object
/// owns (a mapped file), copied before the first change.
class TileBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  TileBuffer() = default;
  TileBuffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

  std::size_t size() const { return size_; }
  /// For changes: the bytes are ours after this.
  std::byte* own_data();
  const std::byte* data() const { return owner_ != nullptr ? viewed_ : memory_.get(); }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

  void reserve(std::size_t bytes);
  /// Grows to `bytes` bytes, at least size().
  void grow(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  void move_to(std::size_t capacity);

  std::shared_ptr<const void> owner_;  // of viewed_; then nothing is in memory_
  const std::byte* viewed_ = nullptr;
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace orthant::cache

#include "orthant/cache/tile_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace orthant::cache {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

std::byte* allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= kLargePage ? kLargePage : TileBuffer::kAlignment;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (bytes >= kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}

}  // namespace

void TileBuffer::Free::operator()(std::byte* p) const { std::free(p); }

TileBuffer::TileBuffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
    : owner_(std::move(owner)), viewed_(bytes.data()), size_(bytes.size()) {}

void TileBuffer::move_to(std::size_t capacity) {
  std::unique_ptr<std::byte[], Free> own(allocate(std::max<std::size_t>(capacity, 1)));
  if (size_ > 0) std::memcpy(own.get(), data(), size_);
  memory_ = std::move(own);
  capacity_ = capacity;
  owner_.reset();
  viewed_ = nullptr;
}

std::byte* TileBuffer::own_data() {
  if (owner_ != nullptr) move_to(size_);
  return memory_.get();
}

void TileBuffer::reserve(std::size_t bytes) {
  if (bytes > capacity_) move_to(std::max(bytes, size_));
}

void TileBuffer::grow(std::size_t bytes) {
  assert(bytes >= size_);
  if (bytes > capacity_) reserve(std::max(bytes, 2 * capacity_));
  if (bytes > size_) std::memset(own_data() + size_, 0, bytes - size_);
  size_ = bytes;
}

}  // namespace orthant::cache

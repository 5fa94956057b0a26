#include "orthant/cache/tile_buffer.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>

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

void TileBuffer::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  std::unique_ptr<std::byte[], Free> larger(allocate(bytes));
  if (size_ > 0) std::memcpy(larger.get(), memory_.get(), size_);
  memory_ = std::move(larger);
  capacity_ = bytes;
}

void TileBuffer::grow(std::size_t bytes) {
  assert(bytes >= size_);
  if (bytes > capacity_) reserve(bytes > 2 * capacity_ ? bytes : 2 * capacity_);
  if (bytes > size_) std::memset(memory_.get() + size_, 0, bytes - size_);
  size_ = bytes;
}

}  // namespace orthant::cache

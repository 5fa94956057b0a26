#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <span>

namespace orthant::kernels {

/// Zeroed bytes that end exactly where a protected page begins: touching the byte after the last one is a fault.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (size + page - 1) / page * page + page;
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    if (mprotect(memory_ + mapped_ - page, page, PROT_NONE) != 0) throw std::bad_alloc();
    begin_ = memory_ + mapped_ - page - size;
  }
  ~GuardedBytes() { munmap(memory_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::byte* data() { return begin_; }
  std::span<std::byte> bytes() { return {begin_, size_}; }

 private:
  std::byte* memory_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t size_;
  std::size_t mapped_;
};

}  // namespace orthant::kernels

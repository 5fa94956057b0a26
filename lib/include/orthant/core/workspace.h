#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace orthant {

/// Scratch memory that a caller hands to const, thread-safe objects: one Workspace per thread.
/// take<T>(n) hands out the next n elements, aligned to 64 bytes and not initialised; they are given back when the
/// Scope opened before them closes. Running out throws InvalidArgument, so a hot path never allocates:
/// size the workspace once with the `workspace_bytes` of the object that will use it.
class Workspace {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Workspace(std::size_t bytes);

  /// Bytes that take<T>(n) consumes: n * sizeof(T) rounded up to the alignment.
  template <class T>
  static constexpr std::size_t bytes_for(std::size_t n) {
    return (n * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// T must be trivially copyable. Throws InvalidArgument when fewer bytes are left.
  template <class T>
  std::span<T> take(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {static_cast<T*>(take_bytes(bytes_for<T>(n))), n};
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t used() const { return used_; }

  /// Gives back, on destruction, everything taken since its construction.
  class Scope {
   public:
    explicit Scope(Workspace& work) : work_(work), used_(work.used_) {}
    ~Scope() { work_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace& work_;
    std::size_t used_;
  };

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  void* take_bytes(std::size_t bytes);

  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

}  // namespace orthant

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace orthant {

/// A regular file mapped read-only into memory; pages are read when touched and may be dropped again by the system.
/// The file must not shrink while it is mapped.
class MappedFile {
 public:
  /// Throws InvalidInput, naming the path, when it cannot be opened, is no regular file, or cannot be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace orthant

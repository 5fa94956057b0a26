#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace orthant {

/// A file opened for reading, and the one place that says why a file cannot be: "cannot read PATH: got a directory,
/// expected a file".
class InputFile {
 public:
  enum class Kind {
    kAny,      ///< a regular file, a pipe, a device
    kRegular,  ///< a regular file alone: its size is known and it can be mapped
  };

  /// Throws InvalidInput, naming the path, when it is missing, a directory, not of the kind, or may not be read.
  explicit InputFile(const std::filesystem::path& path, Kind kind = Kind::kAny);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// Of a regular file; 0 for any other.
  std::size_t size() const { return size_; }
  /// The next bytes, up to block.size() of them; 0 at the end. Throws InvalidInput on a read error.
  std::size_t read(std::span<char> block);
  /// Throws InvalidInput "cannot read PATH: <reason of the errno code>".
  [[noreturn]] void fail(int code) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

/// The whole of a file. Throws InvalidInput as InputFile does, and when it holds more than `most` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t most);

}  // namespace orthant

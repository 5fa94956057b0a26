#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace orthant {

/// A file that appears under its name only once it is complete: bytes go to a file without a name in the same
/// directory, commit() names it. Without commit(), even when the process is killed, nothing is left and what stood
/// under the name stays untouched. (Where the file system has no nameless files, a temporary name stands in, left
/// behind by a kill.) A symbolic link is followed; a device, a pipe or an output already open ("/dev/stdout") is
/// written directly.
class AtomicFile {
 public:
  /// Throws InvalidArgument, naming the path, when the file cannot be created there.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error when the bytes cannot be written (a full disk).
  void write(std::string_view bytes);
  /// At most once, after the last write. Throws Error when the file cannot be completed.
  void commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail(std::string_view action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty while the file has no name
  bool direct_ = false;              ///< written directly, nothing to rename
  std::unique_ptr<std::FILE, Close> file_;
};

/// Writes one whole file through AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace orthant

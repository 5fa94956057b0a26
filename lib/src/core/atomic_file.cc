#include "orthant/core/atomic_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>

#include "orthant/core/error.h"

namespace orthant {
namespace {

std::string reason(int code) { return std::generic_category().message(code); }

/// True for a link to a file that is open already: replacing what it leads to would leave the other end behind.
bool names_open_file(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/");
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> serial{0};
  const std::string suffix = "." + std::to_string(getpid()) + "." + std::to_string(serial++) + ".tmp";
  return path.parent_path() / ("." + path.filename().string() + suffix);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  const bool direct = names_open_file(path.native()) ||
                      (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error));
  if (!direct && std::filesystem::is_symlink(path, error)) {
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    if (!error) path_ = target;
  }
  if (!direct) temporary_ = temporary_beside(path_);
  file_.reset(std::fopen((direct ? path_ : temporary_).c_str(), direct ? "wb" : "wbx"));
  if (!file_) throw InvalidArgument("cannot write " + path.string() + ": " + reason(errno));
}

AtomicFile::~AtomicFile() {
  const bool committed = !file_;
  file_.reset();
  if (committed || temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::fail(std::string_view action) const {
  const int code = errno;
  throw Error("cannot " + std::string(action) + " " + path_.string() + ": " + reason(code));
}

void AtomicFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_.get()) != 0) fail("write");
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("create");
  file_.reset();
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace orthant

#include "orthant/core/atomic_file.h"

#include <fcntl.h>
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

constexpr const char* kDescriptors = "/proc/self/fd/";

/// A file without a name on the file system of `path`, gone with the process that has it open; null where the system
/// has none or cannot name it later.
std::FILE* open_nameless(const std::filesystem::path& path) {
  if (access(kDescriptors, X_OK) != 0) return nullptr;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  return descriptor < 0 ? nullptr : fdopen(descriptor, "wb");
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  direct_ = names_open_file(path.native()) ||
            (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error));
  if (!direct_ && std::filesystem::is_symlink(path, error)) {
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    if (!error) path_ = target;
  }
  if (direct_) {
    file_.reset(std::fopen(path_.c_str(), "wb"));
  } else {
    file_.reset(open_nameless(path_));
    if (!file_) {
      temporary_ = temporary_beside(path_);
      file_.reset(std::fopen(temporary_.c_str(), "wbx"));
    }
  }
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
  if (bytes.empty()) return;  // fwrite takes no null pointer, not even for nothing
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_.get()) != 0) fail("write");
  if (!direct_) {
    if (temporary_.empty()) {
      // A link cannot replace a file, a rename can.
      temporary_ = temporary_beside(path_);
      const std::string nameless = kDescriptors + std::to_string(fileno(file_.get()));
      if (linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("create");
    }
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("create");
  }
  file_.reset();
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace orthant

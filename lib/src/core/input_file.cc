#include "orthant/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "orthant/core/error.h"

namespace orthant {
namespace {

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a regular file" : "a device";
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, Kind kind) : path_(path) {
  // Before it is opened: opening a pipe waits for a writer.
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) fail(errno);
  const bool regular = S_ISREG(status.st_mode);
  if (S_ISDIR(status.st_mode) || (kind == Kind::kRegular && !regular)) {
    throw InvalidInput("cannot read " + path.string() + ": got " + kind_of(status.st_mode) + ", expected a " +
                       (kind == Kind::kRegular ? "regular file" : "file"));
  }
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  if (fstat(descriptor_, &status) != 0) {
    const int code = errno;
    close(descriptor_);
    fail(code);
  }
  if (regular) size_ = static_cast<std::size_t>(status.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::fail(int code) const {
  throw InvalidInput("cannot read " + path_.string() + ": " + std::generic_category().message(code));
}

std::size_t InputFile::read(std::span<char> block) {
  ssize_t got = -1;
  do {
    got = ::read(descriptor_, block.data(), block.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) fail(errno);
  return static_cast<std::size_t>(got);
}

std::string read_file(const std::filesystem::path& path, std::size_t most) {
  InputFile file(path);
  const auto require_at_most = [&](std::size_t size, const char* unit) {
    if (size <= most) return;
    throw_invalid_input("cannot read " + path.string(), "size", std::to_string(size) + unit,
                        "at most " + std::to_string(most));
  };
  require_at_most(file.size(), " bytes");
  std::string text;
  std::array<char, std::size_t{1} << 16> block;
  while (const std::size_t got = file.read(block)) {
    text.append(block.data(), got);
    require_at_most(text.size(), " bytes or more");
  }
  return text;
}

}  // namespace orthant

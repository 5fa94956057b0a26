#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "orthant/core/error.h"

namespace orthant {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : value_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw InvalidInput("cannot read " + path.string() + ": " + std::generic_category().message(code));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path);
  if (file.get() < 0) fail(path, errno);
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode)) throw InvalidInput("cannot read " + path.string() + ": it is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // mmap refuses an empty range
  void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) fail(path, errno);
  data_ = static_cast<const std::uint8_t*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace orthant

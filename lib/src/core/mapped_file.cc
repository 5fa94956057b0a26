#include "core/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>

#include "orthant/core/input_file.h"

namespace orthant {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const InputFile file(path, InputFile::Kind::kRegular);
  size_ = file.size();
  if (size_ == 0) return;  // mmap refuses an empty range
  void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED) file.fail(errno);
  data_ = static_cast<const std::uint8_t*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace orthant

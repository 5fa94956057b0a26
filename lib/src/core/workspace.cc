#include "orthant/core/workspace.h"

#include <new>
#include <string>

#include "orthant/core/error.h"

namespace orthant {

Workspace::Workspace(std::size_t bytes) : capacity_(bytes_for<std::byte>(bytes)) {
  memory_.reset(static_cast<std::byte*>(::operator new (capacity_, std::align_val_t{kAlignment})));
}

void Workspace::Free::operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }

void* Workspace::take_bytes(std::size_t bytes) {
  if (bytes > capacity_ - used_) {
    throw_invalid_argument("Workspace", "too small", std::to_string(capacity_) + " bytes",
                           "at least " + std::to_string(used_ + bytes) + " (see workspace_bytes)");
  }
  void* taken = memory_.get() + used_;
  used_ += bytes;
  return taken;
}

}  // namespace orthant

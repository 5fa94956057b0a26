#include "orthant/cache/target.h"

#include "kernels/kernel_table.h"

namespace orthant::cache {

std::vector<std::string> usable_targets() {
  std::vector<std::string> names;
  for (const kernels::KernelTable* table : kernels::compiled_tables()) {
    if (table->supported()) names.emplace_back(table->name);
  }
  return names;
}

std::string chosen_target() { return std::string(kernels::chosen_table().name); }

unsigned read_through(std::span<const std::byte> bytes, std::string_view target) {
  const kernels::KernelTable& table = target.empty() ? kernels::chosen_table() : kernels::table_named(target);
  return table.read_rows(bytes.data(), bytes.size() / kernels::kRowBytes);
}

}  // namespace orthant::cache

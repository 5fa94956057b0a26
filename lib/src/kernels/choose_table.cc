#include <cstdlib>
#include <string>

#include "kernels/kernel_table.h"
#include "kernels/tables.h"
#include "orthant/core/error.h"

namespace orthant::kernels {
namespace {

constexpr const KernelTable* kTables[] = {
    &kScalar,
#if defined(__x86_64__)
    &kAvx2,   &kAvx512, &kAvxVnni, &kAvx512Vnni, &kAvx512Bf16,
#elif defined(__aarch64__)
    &kNeon,
#endif
};

std::string usable_names() {
  std::string names;
  for (const KernelTable* table : kTables) {
    if (table->supported()) names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  return names;
}

/// Intel cores start a vdpbf16ps every other cycle only (measured on Sapphire Rapids): fused multiply-adds are as fast
/// for one query and faster for several.
bool pays_off(const KernelTable& table) {
#if defined(__x86_64__)
  if (&table == &kAvx512Bf16 && table.supported()) return __builtin_cpu_is("amd") != 0;
#endif
  return table.supported();
}

const KernelTable* choose() {
  const char* forced = std::getenv("ORTHANT_TARGET");
  if (forced != nullptr && *forced != '\0') return &table_named(forced);
  const KernelTable* best = &kScalar;
  for (const KernelTable* table : kTables) {
    if (pays_off(*table)) best = table;
  }
  return best;
}

}  // namespace

const KernelTable& reference_table(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kNarrow:
      return kScalarNarrow;
    case Arithmetic::kTables:
      return kScalarTables;
    default:
      return kScalar;
  }
}

std::span<const KernelTable* const> compiled_tables() { return kTables; }

const KernelTable& table_named(std::string_view name) {
  for (const KernelTable* table : kTables) {
    if (table->name != name) continue;
    if (table->supported()) return *table;
    throw_invalid_argument("target", "instruction set that this CPU lacks", name, "one of " + usable_names());
  }
  throw_invalid_argument("target", "name", name, "one of " + usable_names());
}

const KernelTable& chosen_table() {
  static const KernelTable* const table = choose();
  return *table;
}

}  // namespace orthant::kernels

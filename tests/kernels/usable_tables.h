#pragma once

#include <vector>

#include "kernels/kernel_table.h"

namespace orthant::kernels {

/// Tables that this CPU runs.
inline std::vector<const KernelTable*> usable_tables() {
  std::vector<const KernelTable*> tables;
  for (const KernelTable* table : compiled_tables()) {
    if (table->supported()) tables.push_back(table);
  }
  return tables;
}

}  // namespace orthant::kernels

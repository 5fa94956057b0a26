#pragma once

#include "kernels/kernel_table.h"

// Every table compiled into the library, for the file that chooses among them.
namespace orthant::kernels {

extern const KernelTable kScalar;
extern const KernelTable kScalarNarrow;
extern const KernelTable kScalarTables;
#if defined(__x86_64__)
extern const KernelTable kAvx2;
extern const KernelTable kAvxVnni;
extern const KernelTable kAvx512;
extern const KernelTable kAvx512Vnni;
extern const KernelTable kAvx512Bf16;
#elif defined(__aarch64__)
extern const KernelTable kNeon;
#endif

}  // namespace orthant::kernels

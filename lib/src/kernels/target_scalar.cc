#define ORTHANT_PORTABLE
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "kernels/kernel_table.h"
#include "kernels/tables.h"
#include "kernels/target_region.h"
#include "orthant/core/half.h"

namespace orthant::kernels {
namespace {
bool always() { return true; }
}  // namespace

namespace scalar {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kWide;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar

namespace scalar_narrow {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kNarrow;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar_narrow

namespace scalar_tables {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kTables;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar_tables

constinit const KernelTable kScalar{"scalar", Arithmetic::kWide, always, scalar::prepare, scalar::find_scorer};
constinit const KernelTable kScalarNarrow{"scalar_narrow", Arithmetic::kNarrow, always, scalar_narrow::prepare,
                                          scalar_narrow::find_scorer};
constinit const KernelTable kScalarTables{"scalar_tables", Arithmetic::kTables, always, scalar_tables::prepare,
                                          scalar_tables::find_scorer};

}  // namespace orthant::kernels

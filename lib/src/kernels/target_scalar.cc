#define ORTHANT_PORTABLE
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

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
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
#include "kernels/turn-inl.h"
#include "kernels/value-inl.h"
//
#include "kernels/encode-inl.h"
//
#include "kernels/table-inl.h"
}  // namespace scalar

namespace scalar_narrow {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kNarrow;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
#include "kernels/turn-inl.h"
#include "kernels/value-inl.h"
//
#include "kernels/encode-inl.h"
//
#include "kernels/table-inl.h"
}  // namespace scalar_narrow

namespace scalar_tables {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kTables;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
#include "kernels/turn-inl.h"
#include "kernels/value-inl.h"
//
#include "kernels/encode-inl.h"
//
#include "kernels/table-inl.h"
}  // namespace scalar_tables

constinit const KernelTable kScalar = scalar::make_table("scalar", always);
constinit const KernelTable kScalarNarrow = scalar_narrow::make_table("scalar_narrow", always);
constinit const KernelTable kScalarTables = scalar_tables::make_table("scalar_tables", always);

}  // namespace orthant::kernels

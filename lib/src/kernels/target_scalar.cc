#define ORTHANT_PORTABLE
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
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
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar

namespace scalar_narrow {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kNarrow;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar_narrow

namespace scalar_tables {
inline constexpr Arithmetic kScalarArithmetic = Arithmetic::kTables;
#include "kernels/vec_scalar-inl.h"
//
#include "kernels/passes-inl.h"
#include "kernels/prepare-inl.h"
#include "kernels/score-inl.h"
}  // namespace scalar_tables

constinit const KernelTable kScalar{"scalar",
                                    Arithmetic::kWide,
                                    always,
                                    scalar::prepare,
                                    scalar::find_scorer,
                                    scalar::load_halves,
                                    scalar::largest_of,
                                    scalar::exponentials,
                                    scalar::read_rows,
                                    scalar::sum_of_squares,
                                    scalar::count_thresholds};
constinit const KernelTable kScalarNarrow{"scalar_narrow",
                                          Arithmetic::kNarrow,
                                          always,
                                          scalar_narrow::prepare,
                                          scalar_narrow::find_scorer,
                                          scalar_narrow::load_halves,
                                          scalar_narrow::largest_of,
                                          scalar_narrow::exponentials,
                                          scalar_narrow::read_rows,
                                          scalar_narrow::sum_of_squares,
                                          scalar_narrow::count_thresholds};
constinit const KernelTable kScalarTables{"scalar_tables",
                                          Arithmetic::kTables,
                                          always,
                                          scalar_tables::prepare,
                                          scalar_tables::find_scorer,
                                          scalar_tables::load_halves,
                                          scalar_tables::largest_of,
                                          scalar_tables::exponentials,
                                          scalar_tables::read_rows,
                                          scalar_tables::sum_of_squares,
                                          scalar_tables::count_thresholds};

}  // namespace orthant::kernels

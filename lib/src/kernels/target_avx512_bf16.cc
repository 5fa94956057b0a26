#include <immintrin.h>

#include <cstring>
#include <new>

#include "kernels/kernel_table.h"
#include "kernels/tables.h"
#include "kernels/target_region.h"
#include "orthant/core/half.h"

// avx512_vnni with one kernel more: bfloat16 rows against bfloat16 queries by vdpbf16ps.
namespace orthant::kernels {
namespace {
bool supported() { return kAvx512Vnni.supported() && __builtin_cpu_supports("avx512bf16") != 0; }

/// Word (row, query): coordinates 2 * row and 2 * row + 1 of the query, rounded to bfloat16.
void prepare_bfloat16(const Section& section, const QueryRows& queries, std::byte* prepared) {
  new (prepared) QueryHeader{};
  std::byte* data = prepared + sizeof(QueryHeader);
  for (std::size_t row = 0; row < section.rows; ++row) {
    for (std::size_t q = 0; q < queries.count; ++q) {
      std::uint16_t pair[2] = {};
      for (std::size_t i = 0; i < 2 && 2 * row + i < section.dims; ++i) {
        pair[i] = float_to_bfloat16(queries.data[q * queries.stride + 2 * row + i] * queries.scale);
      }
      std::memcpy(data + (row * queries.count + q) * sizeof(pair), pair, sizeof(pair));
    }
  }
}

void prepare(const Section& section, const QueryRows& queries, bool exact, std::byte* prepared) {
  if (section.bits == 16 && !exact) {
    prepare_bfloat16(section, queries, prepared);
  } else {
    kAvx512Vnni.prepare(section, queries, exact, prepared);
  }
}
}  // namespace

ORTHANT_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")
namespace avx512_bf16 {

ORTHANT_INLINE __m512bh load_words(const std::byte* p) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p)); }

ORTHANT_INLINE __m512bh broadcast_word(const std::byte* p) {
  std::int32_t x;
  std::memcpy(&x, p, sizeof(x));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(x));
}

template <std::size_t kQueries, std::size_t kVectors>
ORTHANT_INLINE void add_row(const std::byte* rows, const std::byte* queries, std::size_t r, std::size_t ahead,
                            __m512 (&sums)[kVectors][kQueries]) {
  const std::byte* at = rows + r * kRowBytes;
  __m512bh x[kVectors];
  ORTHANT_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    x[v] = load_words(at + 64 * v);
    if (ahead != 0) {
      _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(at + 64 * v) + ahead), _MM_HINT_T0);
    }
  }
  ORTHANT_UNROLL
  for (std::size_t q = 0; q < kQueries; ++q) {
    const __m512bh y = broadcast_word(queries + (r * kQueries + q) * 4);
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[v][q] = _mm512_dpbf16_ps(sums[v][q], x[v], y);
  }
}

/// Rows go alternately to two sums: enough chains in flight for one query, the same order for any number of them.
template <std::size_t kQueries, std::size_t kVectors>
void dot_rows(const Section& section, const std::byte* prepared, const TileRun& run) {
  constexpr std::size_t kChains = 2;
  for (TileLoop at(section, prepared, run); at.any(); at.advance()) {
    const std::byte* const tile = at.tile + section.offset;
    const std::byte* const queries = at.queries();
    for (std::size_t lane = 0; lane < kLanes; lane += 16 * kVectors) {
      __m512 sums[kChains][kVectors][kQueries];
      ORTHANT_UNROLL
      for (std::size_t c = 0; c < kChains; ++c) {
        ORTHANT_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          ORTHANT_UNROLL
          for (std::size_t q = 0; q < kQueries; ++q) sums[c][v][q] = _mm512_setzero_ps();
        }
      }
      const std::byte* const rows = tile + 4 * lane;
      std::size_t r = 0;
      for (; r + kChains <= section.rows; r += kChains) {
        ORTHANT_UNROLL
        for (std::size_t c = 0; c < kChains; ++c)
          add_row<kQueries, kVectors>(rows, queries, r + c, run.prefetch, sums[c]);
      }
      for (; r < section.rows; ++r) add_row<kQueries, kVectors>(rows, queries, r, run.prefetch, sums[0]);
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        ORTHANT_UNROLL
        for (std::size_t q = 0; q < kQueries; ++q) {
          __m512 sum = _mm512_add_ps(sums[0][v][q], sums[1][v][q]);
          float* to = at.out + q * run.stride + lane + 16 * v;
          if (run.accumulate) sum = _mm512_add_ps(sum, _mm512_loadu_ps(to));
          _mm512_storeu_ps(to, sum);
        }
      }
    }
  }
}

}  // namespace avx512_bf16
ORTHANT_END_TARGET

namespace {
ScoreFn* find_scorer(const Section& section, bool exact, std::size_t queries) {
  if (section.bits != 16 || exact) return kAvx512Vnni.find_scorer(section, exact, queries);
  switch (queries) {
    case 1:
      return avx512_bf16::dot_rows<1, 4>;
    case 4:
      return avx512_bf16::dot_rows<4, 2>;
    case 8:
      return avx512_bf16::dot_rows<8, 1>;
    default:
      return nullptr;
  }
}

void prepare_turned(const Section& section, const TurnedQueries& queries, std::byte* prepared, std::size_t stride) {
  kAvx512Vnni.prepare_turned(section, queries, prepared, stride);
}

SumFn* find_summer(const Section& section, bool exact, std::size_t queries) {
  return kAvx512Vnni.find_summer(section, exact, queries);
}

float largest_of(const float* scores, std::size_t n) { return kAvx512Vnni.largest(scores, n); }

float exponentials(float* scores, std::size_t n, float largest) { return kAvx512Vnni.exponentials(scores, n, largest); }

unsigned read_rows(const std::byte* rows, std::size_t count) { return kAvx512Vnni.read_rows(rows, count); }

float sum_of_squares(const float* x, std::size_t n) { return kAvx512Vnni.sum_of_squares(x, n); }

void find_codes(const CodeSearch& search, const float* y, std::size_t n, float factor, std::uint8_t* codes) {
  kAvx512Vnni.find_codes(search, y, n, factor, codes);
}

void multiply_rows(const PanelMatrix& m, const float* x, std::size_t x_stride, std::size_t n, float* y,
                   std::size_t y_stride) {
  kAvx512Vnni.multiply_rows(m, x, x_stride, n, y, y_stride);
}
}  // namespace

constinit const KernelTable kAvx512Bf16{"avx512_bf16",  Arithmetic::kTables, supported,    prepare,      prepare_turned,
                                        find_scorer,    find_summer,         largest_of,   exponentials, read_rows,
                                        sum_of_squares, find_codes,          multiply_rows};

}  // namespace orthant::kernels

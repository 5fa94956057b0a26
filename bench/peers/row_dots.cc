// Plain loops over the dot kernels of other libraries, which take one key a call: what a cache built on them does.
// From Python each call would cost a thousand times the kernel.
#include <cstddef>
#include <cstdint>

extern "C" {

/// ggml's: n coordinates, result, then strides and a number of rows that only some of its kernels use.
using GgmlDot = void (*)(int, float*, std::size_t, const void*, std::size_t, const void*, std::size_t, int);
using GgmlFromFloat = void (*)(const float*, void*, std::int64_t);
/// NumKong's: both vectors, coordinates, result.
using NumkongDot = void (*)(const void*, const void*, std::size_t, void*);

/// Rows of keys and queries, one after another.
struct Rows {
  const std::byte* data;
  std::size_t bytes;  ///< of one row
  std::size_t count;
};

/// Each query in its own type, then all queries against each key while it is in cache. Scores leave in runs, as ours:
/// (queries, run).
void peers_ggml_scores(GgmlDot dot, GgmlFromFloat from_float, const float* queries, std::byte* query_rows,
                       std::size_t query_bytes, std::size_t query_count, const Rows* keys, std::size_t dim,
                       float* scores, std::size_t run, std::size_t repeats) {
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t h = 0; h < query_count; ++h) {
      from_float(queries + h * dim, query_rows + h * query_bytes, static_cast<std::int64_t>(dim));
    }
    for (std::size_t first = 0; first < keys->count; first += run) {
      const std::byte* key = keys->data + first * keys->bytes;
      for (std::size_t i = 0; i < run && first + i < keys->count; ++i, key += keys->bytes) {
        for (std::size_t h = 0; h < query_count; ++h) {
          dot(static_cast<int>(dim), scores + h * run + i, 0, key, 0, query_rows + h * query_bytes, 0, 1);
        }
      }
    }
  }
}

/// result_bytes: of one score, in the kernel's own type. scores: (queries, run).
void peers_numkong_scores(NumkongDot dot, const Rows* queries, const Rows* keys, std::size_t dim, std::byte* scores,
                          std::size_t result_bytes, std::size_t run, std::size_t repeats) {
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t first = 0; first < keys->count; first += run) {
      const std::byte* key = keys->data + first * keys->bytes;
      for (std::size_t i = 0; i < run && first + i < keys->count; ++i, key += keys->bytes) {
        for (std::size_t h = 0; h < queries->count; ++h) {
          dot(queries->data + h * queries->bytes, key, dim, scores + (h * run + i) * result_bytes);
        }
      }
    }
  }
}

}  // extern "C"

// Our caches behind a C interface, for the benchmark of other libraries: Python loads it and measures us as it measures
// them, in the same process and the same rounds. Calls repeat in here, so that none of Python is timed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_encoder.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::peers {
namespace {

constexpr std::size_t kBlock = 4096;                ///< rows coded at a time
constexpr std::size_t kRun = std::size_t{1} << 16;  ///< scores leave in runs of this many, into one buffer
constexpr std::uint64_t kSeed = 1;

/// Keys in one format: "turbo" (any bits), "int8" (evenly spaced, 8 bits), "q8_0" or "bf16".
class Keys {
 public:
  Keys(std::string format, int bits, int query_bits, const std::string& rotation, std::size_t dim)
      : format_(std::move(format)),
        encoder_(make_encoder(bits, rotation, dim)),
        cache_(row_format(dim), {.query_bits = query_bits}) {}

  void append(MatrixView<const float> rows, cache::KeyCache& to) const {
    for (std::size_t first = 0; first < rows.rows(); first += kBlock) {
      const auto block = rows.middle_rows(first, std::min(kBlock, rows.rows() - first));
      if (encoder_ != nullptr) {
        Workspace work(encoder_->workspace_bytes());
        encoder_->append(block, to, work);
      } else if (format_ == "bf16") {
        to.append(block);
      } else {
        append_levels(block, to);
      }
    }
  }

  /// Queries in the space that the keys were turned into.
  void rotate(MatrixView<const float> queries, MatrixView<float> turned) const {
    if (encoder_ == nullptr) {
      for (std::size_t h = 0; h < queries.rows(); ++h) std::ranges::copy(queries.row(h), turned.row(h).begin());
      return;
    }
    const auto& rotation = encoder_->quantizer().rotation();
    Workspace work(rotation.workspace_bytes(queries.rows()));
    rotation.apply_queries(queries, turned, work);
  }

  /// All scores of the queries, `repeats` times. scores: (queries, min(size, kRun)); what it holds in the end are those
  /// of the last run of keys.
  void scores(MatrixView<const float> queries, MatrixView<float> scores, std::size_t repeats) const {
    Workspace work(cache_.workspace_bytes(queries.rows()));
    for (std::size_t r = 0; r < repeats; ++r) {
      for (std::size_t first = 0; first < cache_.size(); first += kRun) {
        const MatrixView<float> run(scores.data(), scores.rows(), std::min(kRun, cache_.size() - first),
                                    scores.stride());
        cache_.scores(queries, 1, first, run, work);
      }
    }
  }

  cache::KeyCache& cache() { return cache_; }
  const cache::KeyCache& cache() const { return cache_; }

 private:
  std::unique_ptr<const cache::RowEncoder> make_encoder(int bits, const std::string& rotation, std::size_t dim) const {
    if (format_ != "turbo") return nullptr;
    return std::make_unique<const cache::RowEncoder>(
        std::make_shared<const quantizer::TurboMse>(transform::make_rotation(rotation, dim, kSeed),
                                                    codebook::sphere_codebook(static_cast<std::int64_t>(dim), bits)));
  }
  cache::RowFormat row_format(std::size_t dim) const {
    if (encoder_ != nullptr) return encoder_->format();
    if (format_ == "bf16") return cache::RowFormat::bfloat16(dim);
    if (format_ == "q8_0") return cache::RowFormat::q8_0(dim);
    return cache::RowFormat::uniform(dim, 8, dim);
  }

  /// Rounds a block to the evenly spaced levels of "int8" (smallest to largest of the row) or "q8_0" (the largest
  /// magnitude of 32).
  void append_levels(MatrixView<const float> rows, cache::KeyCache& to) const {
    const cache::RowFormat& format = to.format();
    const std::size_t group = rows.cols() / format.scales();
    Matrix<std::uint8_t> codes(rows.rows(), rows.cols());
    Matrix<float> scales(rows.rows(), format.scales());
    Matrix<float> offsets(format.has_offsets() ? rows.rows() : 0, format.scales());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      for (std::size_t g = 0; g < format.scales(); ++g) {
        const auto x = rows.row(i).subspan(g * group, group);
        const auto [low, high] = std::ranges::minmax(x);
        const bool from_zero = !format.has_offsets();
        const float start = from_zero ? -128 * (std::max(-low, high) / 127) : low;
        const float step = std::max(from_zero ? std::max(-low, high) / 127 : (high - low) / 255, 1e-6F);
        scales(i, g) = step;
        if (!from_zero) offsets(i, g) = start;
        for (std::size_t j = 0; j < group; ++j) {
          codes(i, g * group + j) = static_cast<std::uint8_t>(std::clamp((x[j] - start) / step + 0.5F, 0.0F, 255.0F));
        }
      }
    }
    to.append(codes.view(), scales.view(), offsets.view());
  }

  std::string format_;
  std::unique_ptr<const cache::RowEncoder> encoder_;
  cache::KeyCache cache_;
};

/// Runs `call`; what it throws goes to the error stream and comes back as false.
template <class Call>
bool guarded(const Call& call) {
  try {
    call();
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orthant: %s\n", error.what());
    return false;
  }
}

}  // namespace
}  // namespace orthant::peers

using orthant::MatrixView;
using orthant::peers::Keys;

extern "C" {

/// Null when the arguments do not fit.
Keys* orthant_keys_new(const char* format, int bits, int query_bits, const char* rotation, std::size_t dim) {
  Keys* made = nullptr;
  orthant::peers::guarded([&] { made = new Keys(format, bits, query_bits, rotation, dim); });
  return made;
}
void orthant_keys_free(Keys* keys) { delete keys; }

bool orthant_keys_append(Keys* keys, const float* rows, std::size_t count) {
  return orthant::peers::guarded([&] { keys->append({rows, count, keys->cache().dim()}, keys->cache()); });
}
std::size_t orthant_keys_bytes(const Keys* keys) { return keys->cache().bytes(); }

/// turned: (count, dim).
bool orthant_keys_rotate(const Keys* keys, const float* queries, std::size_t count, float* turned) {
  const std::size_t dim = keys->cache().dim();
  return orthant::peers::guarded([&] { keys->rotate({queries, count, dim}, {turned, count, dim}); });
}
/// queries: (count, dim), turned; scores: (count, min(size, 65536)).
bool orthant_keys_scores(const Keys* keys, const float* queries, std::size_t count, float* scores,
                         std::size_t repeats) {
  const std::size_t run = std::min(orthant::peers::kRun, keys->cache().size());
  return orthant::peers::guarded([&] {
    keys->scores({queries, count, keys->cache().dim()}, {scores, count, run}, repeats);
  });
}
/// Codes the rows into a cache of their own, `repeats` times.
bool orthant_keys_encode(const Keys* keys, const float* rows, std::size_t count, std::size_t repeats) {
  return orthant::peers::guarded([&] {
    for (std::size_t r = 0; r < repeats; ++r) {
      orthant::cache::KeyCache fresh(keys->cache().format());
      fresh.reserve(count);
      keys->append({rows, count, keys->cache().dim()}, fresh);
    }
  });
}
const char* orthant_target() {
  static const std::string target = orthant::cache::chosen_target();
  return target.c_str();
}

}  // extern "C"

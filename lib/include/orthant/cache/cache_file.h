#pragma once

#include <filesystem>
#include <string>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/value_cache.h"

namespace orthant::cache {

/// Files of caches, "orthant-cache" version 1. All numbers are little-endian.
///   bytes 0..15     "orthant-cache 1\n"
///   bytes 16..23    H, bytes of the header, a multiple of 64 less 40: tiles start at a multiple of 64
///   bytes 24..31    T, bytes of the tiles
///   bytes 32..39    W, bytes of the exact windows
///   then H bytes    JSON, padded with spaces: kind (keys, values), size, sections (bits, dims, scale, levels as hex
///                   floats), scales, offsets, precision, query_bits, first_exact, last_exact
///   then T bytes    the tiles as they lie in memory (TileLayout, ValueLayout)
///   then W bytes    float32 rows: the first window, then the last one, oldest row first
///   last 8 bytes    CRC-64 (ECMA-182, as in xz) of everything before
/// Loading maps the file and uses the tiles where they are; appending to such a cache copies them first.
///
/// Saving goes to a temporary name that is renamed when complete. Throws Error when the file cannot be written.
void save(const KeyCache& cache, const std::filesystem::path& path);
void save(const ValueCache& cache, const std::filesystem::path& path);

/// target: as in CacheOptions. Throws InvalidInput, saying what, where, got and expected, when the file cannot be read,
/// is of another kind or version, is cut short, has sizes or settings that do not fit each other, or fails its
/// checksum.
KeyCache load_keys(const std::filesystem::path& path, const std::string& target = {});
ValueCache load_values(const std::filesystem::path& path, const std::string& target = {});

}  // namespace orthant::cache

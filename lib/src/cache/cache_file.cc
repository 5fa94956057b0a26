#include "orthant/cache/cache_file.h"

#include <array>
#include <boost/crc.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_errors.h"
#include "core/mapped_file.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"

namespace orthant::cache {

/// The members that files hold, of both caches.
struct CacheParts {
  template <class Cache>
  static void set(Cache& cache, TileBuffer tiles, std::size_t size) {
    cache.tiles_ = std::move(tiles);
    cache.size_ = size;
  }
  template <class Cache>
  static ExactWindows& windows(Cache& cache) {
    return cache.windows_;
  }
  template <class Cache>
  static const ExactWindows& windows(const Cache& cache) {
    return cache.windows_;
  }
};

namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "orthant-cache 1\n";
constexpr std::size_t kFixedBytes = 40;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 26;

using Crc64 = boost::crc_optimal<64, 0x42F0E1EBA9EA3693ULL, ~0ULL, ~0ULL, true, true>;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what, std::string_view got,
                         std::string_view expected) {
  throw_invalid_input(path.string(), what, got, expected);
}

std::string hex_float(float value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  return {text.data(), end};
}

float parse_hex_float(const std::string& text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_invalid_argument("levels", "value", text, "a hex float");
  }
  return value;
}

json describe(const RowFormat& format) {
  json sections = json::array();
  for (const RowFormat::Section& section : format.sections()) {
    json levels = json::array();
    for (const float level : section.levels) levels.push_back(hex_float(level));
    sections.push_back({{"bits", section.bits}, {"dims", section.dims}, {"scale", section.scale}, {"levels", levels}});
  }
  return sections;
}

template <class Cache>
json describe(const Cache& cache, const char* kind) {
  const CacheOptions& options = cache.options();
  return {{"kind", kind},
          {"size", cache.size()},
          {"sections", describe(cache.format())},
          {"scales", cache.format().scales()},
          {"offsets", cache.format().has_offsets()},
          {"precision", options.precision == Precision::kExact ? "exact" : "fast"},
          {"query_bits", options.query_bits},
          {"first_exact", options.first_exact},
          {"last_exact", options.last_exact}};
}

/// Rows that the windows of a cache of `size` rows hold, each once, in order.
std::vector<std::size_t> window_rows(const CacheOptions& options, std::size_t size) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < std::min(options.first_exact, size); ++i) rows.push_back(i);
  for (std::size_t i = std::max(rows.size(), size - std::min(options.last_exact, size)); i < size; ++i)
    rows.push_back(i);
  return rows;
}

std::string_view as_text(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

template <class Cache>
void save_cache(const Cache& cache, const char* kind, const std::filesystem::path& path) {
  AtomicFile file(path);
  Crc64 crc;
  const auto write = [&](std::string_view bytes) {
    crc.process_bytes(bytes.data(), bytes.size());
    file.write(bytes);
  };
  std::string header = describe(cache, kind).dump();
  header.append((64 - (kFixedBytes + header.size()) % 64) % 64, ' ');
  std::vector<float> rows;
  for (const std::size_t row : window_rows(cache.options(), cache.size())) {
    const std::span<const float> values = CacheParts::windows(cache).row(row);
    rows.insert(rows.end(), values.begin(), values.end());
  }
  const std::array<std::uint64_t, 3> sizes = {header.size(), cache.tiles().size(), rows.size() * sizeof(float)};
  write(kMagic);
  write(as_text(sizes.data(), sizeof(sizes)));
  write(header);
  write(as_text(cache.tiles().data(), cache.tiles().size()));
  write(as_text(rows.data(), rows.size() * sizeof(float)));
  const std::uint64_t checksum = crc.checksum();
  file.write(as_text(&checksum, sizeof(checksum)));
  file.commit();
}

struct File {
  std::shared_ptr<const MappedFile> mapping;
  json header;
  std::span<const std::byte> tiles;
  std::span<const std::byte> windows;
};

File open_file(const std::filesystem::path& path, std::string_view kind) {
  File file{std::make_shared<const MappedFile>(path), {}, {}, {}};
  const std::span<const std::byte> bytes = std::as_bytes(file.mapping->bytes());
  if (bytes.size() < kFixedBytes + kChecksumBytes) {
    refuse(path, "bytes", std::to_string(bytes.size()), "at least " + std::to_string(kFixedBytes + kChecksumBytes));
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    refuse(path, "first bytes", "something else", "\"orthant-cache 1\": a cache file of version 1");
  }
  std::array<std::uint64_t, 3> sizes{};
  std::memcpy(sizes.data(), bytes.data() + kMagic.size(), sizeof(sizes));
  // Each is at most what is left, so the sums cannot overflow.
  std::size_t left = bytes.size() - kFixedBytes - kChecksumBytes;
  for (const std::uint64_t size : sizes) {
    if (size > left)
      refuse(path, "bytes of a part", std::to_string(size), "at most the " + std::to_string(left) + " left");
    left -= size;
  }
  if (left != 0) refuse(path, "bytes after the last part", std::to_string(left), "none");
  if (sizes[0] > kMaxHeaderBytes) refuse(path, "bytes of the header", std::to_string(sizes[0]), "at most 64 MiB");

  const std::span<const std::byte> checked = bytes.first(bytes.size() - kChecksumBytes);
  Crc64 crc;
  crc.process_bytes(checked.data(), checked.size());
  std::uint64_t stored = 0;
  std::memcpy(&stored, checked.data() + checked.size(), sizeof(stored));
  if (stored != crc.checksum()) refuse(path, "checksum", std::to_string(stored), std::to_string(crc.checksum()));

  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kFixedBytes;
  file.header = json::parse(text, text + sizes[0], nullptr, false);
  if (!file.header.is_object()) refuse(path, "header", "not a JSON object", "one");
  const json stated = file.header.value("kind", json());
  if (!stated.is_string() || stated.get<std::string>() != kind) refuse(path, "kind", stated.dump(), kind);
  file.tiles = bytes.subspan(kFixedBytes + sizes[0], sizes[1]);
  file.windows = bytes.subspan(kFixedBytes + sizes[0] + sizes[1], sizes[2]);
  return file;
}

RowFormat parse_format(const json& header) {
  std::vector<RowFormat::Section> sections;
  std::size_t first = 0;
  for (const json& from : header.at("sections")) {
    RowFormat::Section section;
    section.first = first;
    section.dims = from.at("dims").get<std::size_t>();
    section.bits = from.at("bits").get<int>();
    section.scale = from.at("scale").get<std::size_t>();
    for (const json& level : from.at("levels")) section.levels.push_back(parse_hex_float(level.get<std::string>()));
    if (section.dims > RowFormat::kMaxDim) {
      throw_invalid_argument("sections", "dims", std::to_string(section.dims),
                             "at most " + std::to_string(RowFormat::kMaxDim));
    }
    first += section.dims;
    sections.push_back(std::move(section));
  }
  return {std::move(sections), header.at("scales").get<std::size_t>(), header.at("offsets").get<bool>()};
}

CacheOptions parse_options(const json& header, const std::string& target) {
  const std::string precision = header.at("precision").get<std::string>();
  if (precision != "exact" && precision != "fast") {
    throw_invalid_argument("header", "precision", precision, "exact or fast");
  }
  return {.precision = precision == "exact" ? Precision::kExact : Precision::kFast,
          .query_bits = header.at("query_bits").get<int>(),
          .first_exact = header.at("first_exact").get<std::size_t>(),
          .last_exact = header.at("last_exact").get<std::size_t>(),
          .target = target};
}

template <class Cache, class Layout>
Cache load_cache(const std::filesystem::path& path, const char* kind, const std::string& target) {
  if (!target.empty()) Cache(RowFormat::bfloat16(1), {.target = target});  // a bad target is no fault of the file
  File file = open_file(path, kind);
  try {
    const RowFormat format = parse_format(file.header);
    const CacheOptions options = parse_options(file.header, target);
    const auto size = file.header.at("size").get<std::size_t>();
    const std::size_t tile_bytes = Layout(format).tile_bytes();
    const std::size_t tiles = TileLayout::tiles(size);
    if (size > std::numeric_limits<std::size_t>::max() - 64 || file.tiles.size() % tile_bytes != 0) {
      refuse(path, "bytes of the tiles", std::to_string(file.tiles.size()),
             "a multiple of " + std::to_string(tile_bytes));
    }
    if (file.tiles.size() / tile_bytes != tiles) {
      refuse(path, "tiles", std::to_string(file.tiles.size() / tile_bytes), std::to_string(tiles));
    }
    // A window larger than the cache was ever filled is honest but must not make us allocate what a file invents.
    if (options.first_exact > RowFormat::kMaxDim * 64 || options.last_exact > RowFormat::kMaxDim * 64) {
      refuse(path, "rows of an exact window", std::to_string(std::max(options.first_exact, options.last_exact)),
             "at most " + std::to_string(RowFormat::kMaxDim * 64));
    }
    const std::vector<std::size_t> numbers = window_rows(options, size);
    const std::size_t row_bytes = format.dim() * sizeof(float);
    if (file.windows.size() % row_bytes != 0 || file.windows.size() / row_bytes != numbers.size()) {
      refuse(path, "bytes of the exact windows", std::to_string(file.windows.size()),
             std::to_string(numbers.size()) + " rows of " + std::to_string(row_bytes));
    }
    Cache cache(format, options);
    std::vector<float> row(format.dim());
    std::size_t at = 0;
    for (const std::size_t number : numbers) {
      std::memcpy(row.data(), file.windows.data() + at, row_bytes);
      at += row_bytes;
      for (const float value : row) {
        if (!std::isfinite(value)) refuse(path, "value of an exact row", std::to_string(value), "a finite one");
      }
      CacheParts::windows(cache).append(number, {row.data(), 1, row.size()});
    }
    CacheParts::set(cache, TileBuffer(file.mapping, file.tiles), size);
    return cache;
  } catch (const json::exception& error) {
    refuse(path, "header", json_reason(error.what()), "the fields of version 1");
  } catch (const InvalidArgument& error) {
    refuse(path, "header", error.what(), "a valid format");
  }
}

}  // namespace

void save(const KeyCache& cache, const std::filesystem::path& path) { save_cache(cache, "keys", path); }
void save(const ValueCache& cache, const std::filesystem::path& path) { save_cache(cache, "values", path); }

KeyCache load_keys(const std::filesystem::path& path, const std::string& target) {
  return load_cache<KeyCache, TileLayout>(path, "keys", target);
}

ValueCache load_values(const std::filesystem::path& path, const std::string& target) {
  return load_cache<ValueCache, ValueLayout>(path, "values", target);
}

}  // namespace orthant::cache

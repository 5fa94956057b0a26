#include "orthant/kv/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/json_errors.h"
#include "core/mapped_file.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::kv {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian and read in place");
static_assert(sizeof(std::size_t) == 8, "sizes of the format are 64-bit");

using nlohmann::json;

constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr int kMaxDepth = 3;                          // header, tensor, shape

struct TypeRow {
  TensorType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array kTypes = {
    TypeRow{TensorType::kBool, "BOOL", 1},       TypeRow{TensorType::kU8, "U8", 1},
    TypeRow{TensorType::kI8, "I8", 1},           TypeRow{TensorType::kF8_E4M3, "F8_E4M3", 1},
    TypeRow{TensorType::kF8_E5M2, "F8_E5M2", 1}, TypeRow{TensorType::kU16, "U16", 2},
    TypeRow{TensorType::kI16, "I16", 2},         TypeRow{TensorType::kF16, "F16", 2},
    TypeRow{TensorType::kBF16, "BF16", 2},       TypeRow{TensorType::kU32, "U32", 4},
    TypeRow{TensorType::kI32, "I32", 4},         TypeRow{TensorType::kF32, "F32", 4},
    TypeRow{TensorType::kU64, "U64", 8},         TypeRow{TensorType::kI64, "I64", 8},
    TypeRow{TensorType::kF64, "F64", 8},
};

const TypeRow& row_of(TensorType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [type](const TypeRow& row) { return row.type == type; });
}

/// A name in quotes, control characters escaped: names come from the file.
std::string in_quotes(std::string_view name) { return json(name).dump(-1, ' ', true, json::error_handler_t::replace); }

std::optional<std::size_t> product(std::span<const std::size_t> factors, std::size_t start) {
  std::size_t result = start;
  for (const std::size_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  }
  return result;
}

/// Parses JSON that repeats no key and nests no deeper than kMaxDepth.
json parse_header(const std::string& name, std::string_view text) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) throw_invalid_input(name, "header nesting", "more than 3 levels", "at most 3");
    switch (event) {
      case json::parse_event_t::object_start:
        keys.emplace_back();
        break;
      case json::parse_event_t::object_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key:
        if (const auto& key = parsed.get_ref<const std::string&>(); !keys.back().insert(key).second) {
          throw_invalid_input(name, "header key " + in_quotes(key), "a duplicate", "unique keys");
        }
        break;
      default:
        break;
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    throw_invalid_input(name, "header", "no JSON at " + place_in_text(text, error.byte - 1), "a JSON object in UTF-8");
  } catch (const json::exception&) {
    throw_invalid_input(name, "header", "a number that no double holds", "a JSON object of sizes");
  }
}

std::map<std::string, std::string> parse_metadata(const std::string& name, const json& value) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) throw_invalid_input(name, "__metadata__", value.type_name(), "an object of strings");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw_invalid_input(name, "metadata " + in_quotes(key), text.type_name(), "a string");
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// Parses one tensor entry and checks its shape against its span of the data section.
class EntryParser {
 public:
  EntryParser(const std::string& file, const std::string& key, const json& entry, std::size_t data_bytes)
      : file_(file), key_(key), entry_(entry), data_bytes_(data_bytes) {}

  TensorInfo parse() const {
    if (!entry_.is_object()) refuse("entry", entry_.type_name(), "an object");
    TensorInfo tensor;
    tensor.name = key_;
    tensor.type = parse_type();
    tensor.shape = parse_sizes("shape");
    const auto elements = product(tensor.shape, 1);
    const auto bytes = elements ? product(std::array{element_bytes(tensor.type)}, *elements) : std::nullopt;
    if (!bytes) refuse("shape", field("shape").dump(), "a product below 2^64 bytes");
    tensor.elements = *elements;

    const std::vector<std::size_t> span = parse_sizes("data_offsets");
    const std::string got = field("data_offsets").dump();
    if (span.size() != 2) refuse("data_offsets", got, "two numbers");
    if (span[0] > span[1]) refuse("data_offsets", got, "begin <= end");
    if (span[1] > data_bytes_)
      refuse("data_offsets", got, "an end within the " + std::to_string(data_bytes_) + " data bytes");
    if (span[1] - span[0] != *bytes) {
      refuse("data_offsets", got, std::to_string(*bytes) + " bytes for shape " + field("shape").dump());
    }
    tensor.offset = span[0];
    return tensor;
  }

 private:
  [[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) const {
    throw_invalid_input(file_, "tensor " + in_quotes(key_) + " " + std::string(what), got, expected);
  }

  const json& field(const char* what) const {
    const auto found = entry_.find(what);
    if (found == entry_.end()) refuse(what, "nothing", "a value");
    return *found;
  }

  TensorType parse_type() const {
    const json& value = field("dtype");
    for (const TypeRow& row : kTypes) {
      if (value.is_string() && value.get_ref<const std::string&>() == row.name) return row.type;
    }
    refuse("dtype", value.dump(-1, ' ', true), "one of BOOL, U8..U64, I8..I64, F8_E4M3, F8_E5M2, F16, BF16, F32, F64");
  }

  std::vector<std::size_t> parse_sizes(const char* what) const {
    const json& value = field(what);
    if (!value.is_array()) refuse(what, value.dump(-1, ' ', true), "an array of numbers");
    std::vector<std::size_t> sizes;
    for (const json& size : value) {
      // Integers at or above 2^64 were parsed as floating point, negative ones as signed.
      if (!size.is_number_unsigned()) refuse(what, size.dump(-1, ' ', true), "an integer from 0 to 2^64 - 1");
      sizes.push_back(size.get<std::size_t>());
    }
    return sizes;
  }

  const std::string& file_;
  const std::string& key_;
  const json& entry_;
  std::size_t data_bytes_;
};

std::size_t tensor_bytes(const TensorInfo& tensor) { return tensor.elements * element_bytes(tensor.type); }

void require_full_coverage(const std::string& name, std::span<const TensorInfo> sorted, std::size_t data_bytes) {
  std::size_t end = 0;
  for (const TensorInfo& tensor : sorted) {
    if (tensor.offset != end) {
      const std::string what =
          "tensor " + in_quotes(tensor.name) + (tensor.offset < end ? " overlaps" : " leaves a gap");
      throw_invalid_input(name, what + ": begin", std::to_string(tensor.offset), std::to_string(end));
    }
    end += tensor_bytes(tensor);
  }
  if (end != data_bytes) {
    throw_invalid_input(name, "data after the last tensor", std::to_string(data_bytes - end) + " bytes", "none");
  }
}

float half_at(const std::uint8_t* bytes, TensorType type) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return type == TensorType::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

}  // namespace

std::string_view to_string(TensorType type) { return row_of(type).name; }

std::size_t element_bytes(TensorType type) { return row_of(type).bytes; }

Safetensors Safetensors::open(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  return Safetensors(file, file->bytes(), path.string());
}

Safetensors Safetensors::from_bytes(std::vector<std::uint8_t> bytes, std::string name) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  return Safetensors(owner, *owner, std::move(name));
}

Safetensors::Safetensors(std::shared_ptr<const void> owner, std::span<const std::uint8_t> file, std::string name)
    : owner_(std::move(owner)), name_(std::move(name)) {
  std::uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes) {
    throw_invalid_input(name_, "file", std::to_string(file.size()) + " bytes", "at least 8: the header's length");
  }
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  const std::size_t rest = file.size() - sizeof header_bytes;
  if (header_bytes > std::min(rest, kMaxHeaderBytes)) {
    throw_invalid_input(name_, "header length", std::to_string(header_bytes),
                        "at most " + std::to_string(std::min(rest, kMaxHeaderBytes)) +
                            (rest < kMaxHeaderBytes ? ": the rest of the file" : ": the format's limit"));
  }
  const auto header = file.subspan(sizeof header_bytes, header_bytes);
  if (header.empty() || header.front() != '{') {
    throw_invalid_input(name_, "header", header.empty() ? "nothing" : "another first byte", "a JSON object: '{'");
  }
  data_ = file.subspan(sizeof header_bytes + header_bytes);

  const json root = parse_header(name_, {reinterpret_cast<const char*>(header.data()), header.size()});
  for (const auto& [key, value] : root.items()) {
    if (key == "__metadata__") {
      metadata_ = parse_metadata(name_, value);
    } else {
      tensors_.push_back(EntryParser(name_, key, value, data_.size()).parse());
    }
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.offset, a.elements, a.name) < std::tie(b.offset, b.elements, b.name);
  });
  require_full_coverage(name_, tensors_, data_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const TensorInfo* Safetensors::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::span<const std::uint8_t> Safetensors::bytes(const TensorInfo& tensor) const {
  return data_.subspan(tensor.offset, tensor_bytes(tensor));
}

void Safetensors::read_floats(const TensorInfo& tensor, std::size_t first, std::span<float> out) const {
  if (first > tensor.elements || out.size() > tensor.elements - first) {
    throw_invalid_argument("read_floats", "range of tensor " + in_quotes(tensor.name),
                           std::to_string(first) + " + " + std::to_string(out.size()) + " elements",
                           "at most " + std::to_string(tensor.elements));
  }
  const std::uint8_t* source = data_.data() + tensor.offset + first * element_bytes(tensor.type);
  switch (tensor.type) {
    case TensorType::kF32:
      if (!out.empty()) std::memcpy(out.data(), source, out.size_bytes());
      return;
    case TensorType::kF16:
    case TensorType::kBF16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = half_at(source + 2 * i, tensor.type);
      return;
    default:
      throw_invalid_input(name_, "tensor " + in_quotes(tensor.name) + " dtype", to_string(tensor.type),
                          "F32, F16 or BF16");
  }
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const TensorData> tensors) {
  json root = json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorData& tensor : tensors) {
    const std::string what = "tensor " + in_quotes(tensor.name);
    if (tensor.name == "__metadata__" || root.contains(tensor.name)) {
      throw_invalid_argument("write_safetensors", what, "a reserved or repeated name", "unique names");
    }
    const auto bytes = product(tensor.shape, element_bytes(tensor.type));
    if (bytes != tensor.bytes.size()) {
      throw_invalid_argument("write_safetensors", what, std::to_string(tensor.bytes.size()) + " bytes",
                             bytes ? std::to_string(*bytes) : "a shape that fits in memory");
    }
    root[tensor.name] = {{"dtype", to_string(tensor.type)},
                         {"shape", tensor.shape},
                         {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string header;
  try {
    header = root.dump();
  } catch (const json::exception&) {
    throw_invalid_argument("write_safetensors", "names and metadata", "bytes that are no UTF-8", "UTF-8");
  }
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data section starts aligned to 8 bytes

  const std::uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes});
  file.write(header);
  for (const TensorData& tensor : tensors) {
    file.write({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  }
  file.commit();
}

std::vector<std::uint8_t> float_tensor_bytes(std::span<const float> values, TensorType type) {
  if (type != TensorType::kF32 && type != TensorType::kF16 && type != TensorType::kBF16) {
    throw_invalid_argument("float_tensor_bytes", "type", to_string(type), "F32, F16 or BF16");
  }
  std::vector<std::uint8_t> bytes(values.size() * element_bytes(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == TensorType::kF32) {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
    } else {
      const std::uint16_t half = type == TensorType::kF16 ? float_to_half(values[i]) : float_to_bfloat16(values[i]);
      std::memcpy(bytes.data() + 2 * i, &half, 2);
    }
  }
  return bytes;
}

}  // namespace orthant::kv

#include "orthant/kv/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstring>
#include <string_view>

#include "core/mapped_file.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::kv {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;  // NumPy's own limit

enum class Type { kF2, kF4, kF8, kU1 };

struct Header {
  Type type = Type::kF4;
  bool swapped = false;
  bool fortran = false;
  std::vector<std::size_t> shape;
  std::size_t elements = 1;
};

std::size_t bytes_of(Type type) {
  switch (type) {
    case Type::kU1:
      return 1;
    case Type::kF2:
      return 2;
    case Type::kF4:
      return 4;
    case Type::kF8:
      return 8;
  }
  return 0;
}

/// Parses the header: the literal of a Python dictionary with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    std::array<bool, 3> seen{};
    const auto once = [&](std::size_t which, std::string_view key) {
      if (seen[which]) refuse(key, "a second value", "one");
      seen[which] = true;
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(0, key);
        parse_type(header);
      } else if (key == "fortran_order") {
        once(1, key);
        header.fortran = parse_bool();
      } else if (key == "shape") {
        once(2, key);
        parse_shape(header);
      } else {
        refuse("header key", key, "descr, fortran_order and shape");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) refuse("header", "bytes after the dictionary", "none");
    if (!seen[0] || !seen[1] || !seen[2]) refuse("header", "a missing key", "descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) const {
    throw_invalid_input(file_, what, got, expected);
  }

  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  bool accept(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) refuse("header", "a malformed dictionary", "'" + std::string(1, c) + "'");
  }

  std::string_view string() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse("header", "a malformed or structured value", "a quoted string");
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    refuse("fortran_order", "another value", "True or False");
  }

  void parse_type(Header& header) {
    const std::string_view descr = string();
    const auto unsupported = [&] {
      refuse("type", "'" + std::string(descr) + "'", "<f2, <f4, <f8, >f2, >f4, >f8 or |u1");
    };
    if (descr == "|u1") {
      header.type = Type::kU1;
      return;
    }
    if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '>')) unsupported();
    header.swapped = descr[0] == '>';
    if (descr.substr(1) == "f2") {
      header.type = Type::kF2;
    } else if (descr.substr(1) == "f4") {
      header.type = Type::kF4;
    } else if (descr.substr(1) == "f8") {
      header.type = Type::kF8;
    } else {
      unsupported();
    }
  }

  /// A Python tuple: "()", "(3,)", "(3, 4)", "(3, 4,)"; "(3)" is a number, not a tuple.
  void parse_shape(Header& header) {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) refuse("shape", "a malformed tuple", "numbers between commas");
      if (accept('-')) refuse("shape", "a negative size", "sizes from 0 on");
      std::size_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{}) refuse("shape", "a malformed or too large number", "sizes below 2^64");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (header.shape.size() == kMaxRank) refuse("shape", "more axes", "at most 64");
      header.shape.push_back(size);
      comma = accept(',');
    }
    if (header.shape.size() == 1 && !comma) refuse("shape", "a malformed tuple: (n)", "(n,)");
    for (const std::size_t size : header.shape) {
      if (__builtin_mul_overflow(header.elements, size, &header.elements)) {
        refuse("shape", "a product that overflows", "a product below 2^64 bytes");
      }
    }
  }

  std::string_view text_;
  const std::string& file_;
};

template <class Bits>
Bits load(const std::uint8_t* bytes, bool swapped) {
  std::array<std::uint8_t, sizeof(Bits)> copy;
  std::copy_n(bytes, copy.size(), copy.begin());
  if (swapped) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<Bits>(copy);
}

template <class T>
T element(const std::uint8_t* bytes, const Header& header) {
  switch (header.type) {
    case Type::kU1:
      return static_cast<T>(*bytes);
    case Type::kF2:
      return static_cast<T>(half_to_float(load<std::uint16_t>(bytes, header.swapped)));
    case Type::kF4:
      return static_cast<T>(load<float>(bytes, header.swapped));
    case Type::kF8:
      return static_cast<T>(load<double>(bytes, header.swapped));
  }
  return T{};
}

/// Position in the file of each element in turn, last axis fastest.
class FileOrder {
 public:
  explicit FileOrder(const Header& header) : shape_(header.shape), index_(shape_.size()), strides_(shape_.size(), 1) {
    const std::size_t rank = shape_.size();
    for (std::size_t k = 1; k < rank; ++k) {
      if (header.fortran) {
        strides_[k] = strides_[k - 1] * shape_[k - 1];
      } else {
        strides_[rank - 1 - k] = strides_[rank - k] * shape_[rank - k];
      }
    }
  }
  std::size_t position() const { return position_; }
  void advance() {
    for (std::size_t k = shape_.size(); k-- > 0;) {
      position_ += strides_[k];
      if (++index_[k] < shape_[k]) return;
      position_ -= strides_[k] * shape_[k];
      index_[k] = 0;
    }
  }

 private:
  std::span<const std::size_t> shape_;
  std::vector<std::size_t> index_;
  std::vector<std::size_t> strides_;
  std::size_t position_ = 0;
};

void write(const std::filesystem::path& path, std::string_view descr, std::span<const std::size_t> shape,
           std::size_t elements, std::string_view bytes) {
  std::size_t product = 1;
  for (const std::size_t size : shape) {
    if (__builtin_mul_overflow(product, size, &product)) {
      throw_invalid_argument("write_npy", "shape", "a product that overflows", "the number of values");
    }
  }
  require_size("write_npy", "product of the shape", product, elements);

  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t k = 0; k < shape.size(); ++k) header += (k > 0 ? ", " : "") + std::to_string(shape[k]);
  header += shape.size() == 1 ? ",), }" : "), }";
  constexpr std::size_t kFixed = kMagic.size() + 4;  // magic, version, length
  const std::size_t padded = (kFixed + header.size() + 1 + 63) / 64 * 64;
  header.resize(padded - kFixed - 1, ' ');
  header += '\n';
  if (header.size() > 0xFFFF) throw_invalid_argument("write_npy", "shape", "too many axes", "a shorter header");

  AtomicFile file(path);
  const std::array<char, 4> fixed = {1, 0, static_cast<char>(header.size() & 0xFF),
                                     static_cast<char>(header.size() >> 8)};
  file.write(kMagic);
  file.write({fixed.data(), fixed.size()});
  file.write(header);
  file.write(bytes);
  file.commit();
}

template <class T>
constexpr std::string_view descr_of() {
  if constexpr (std::same_as<T, float>) return "<f4";
  if constexpr (std::same_as<T, double>) return "<f8";
  if constexpr (std::same_as<T, std::uint8_t>) return "|u1";
}

}  // namespace

template <class T>
NpyArray<T> parse_npy(std::span<const std::uint8_t> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr std::size_t kVersionAt = kMagic.size();
  if (!text.starts_with(kMagic) || file.size() < kVersionAt + 2) {
    throw_invalid_input(name, "file", "another start", "a NumPy array: \\x93NUMPY and a version");
  }
  const int major = file[kVersionAt];
  const int minor = file[kVersionAt + 1];
  if (major < 1 || major > 3 || minor != 0) {
    throw_invalid_input(name, "version", std::to_string(major) + "." + std::to_string(minor), "1.0, 2.0 or 3.0");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_at = kVersionAt + 2 + length_bytes;
  if (file.size() < header_at) throw_invalid_input(name, "file", "a truncated header", "the header's length");
  const std::size_t length = major == 1 ? load<std::uint16_t>(file.data() + kVersionAt + 2, false)
                                        : load<std::uint32_t>(file.data() + kVersionAt + 2, false);
  if (length > file.size() - header_at) {
    throw_invalid_input(name, "header length", std::to_string(length),
                        "at most " + std::to_string(file.size() - header_at) + ": the rest of the file");
  }
  const Header header = HeaderParser(text.substr(header_at, length), name).parse();
  if (std::same_as<T, std::uint8_t> && header.type != Type::kU1) {
    throw_invalid_input(name, "type", "floating point", "|u1");
  }

  const auto data = file.subspan(header_at + length);
  std::size_t expected = 0;
  if (__builtin_mul_overflow(header.elements, bytes_of(header.type), &expected)) {
    throw_invalid_input(name, "shape", "a product that overflows", "a product below 2^64 bytes");
  }
  if (data.size() != expected) {
    throw_invalid_input(name, data.size() < expected ? "truncated data" : "data",
                        std::to_string(data.size()) + " bytes", std::to_string(expected));
  }
  NpyArray<T> array{header.shape, std::vector<T>(header.elements)};
  FileOrder order(header);
  for (T& value : array.values) {
    value = element<T>(data.data() + order.position() * bytes_of(header.type), header);
    order.advance();
  }
  return array;
}

template <class T>
NpyArray<T> read_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_npy<T>(file.bytes(), path.string());
}

template <class T>
void write_npy(const std::filesystem::path& path, std::span<const std::size_t> shape, std::span<const T> values) {
  write(path, descr_of<T>(), shape, values.size(), {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void write_npy_half(const std::filesystem::path& path, std::span<const std::size_t> shape,
                    std::span<const float> values) {
  std::vector<std::uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), float_to_half);
  write(path, "<f2", shape, values.size(), {reinterpret_cast<const char*>(halves.data()), 2 * halves.size()});
}

template NpyArray<float> read_npy(const std::filesystem::path&);
template NpyArray<double> read_npy(const std::filesystem::path&);
template NpyArray<std::uint8_t> read_npy(const std::filesystem::path&);
template NpyArray<float> parse_npy(std::span<const std::uint8_t>, const std::string&);
template NpyArray<double> parse_npy(std::span<const std::uint8_t>, const std::string&);
template NpyArray<std::uint8_t> parse_npy(std::span<const std::uint8_t>, const std::string&);
template void write_npy(const std::filesystem::path&, std::span<const std::size_t>, std::span<const float>);
template void write_npy(const std::filesystem::path&, std::span<const std::size_t>, std::span<const double>);
template void write_npy(const std::filesystem::path&, std::span<const std::size_t>, std::span<const std::uint8_t>);

}  // namespace orthant::kv

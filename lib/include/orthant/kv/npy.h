#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace orthant::kv {

/// A dense array, last axis fastest, whatever the order in the file.
template <class T>
struct NpyArray {
  std::vector<std::size_t> shape;
  std::vector<T> values;
};

/// Reads a NumPy array file (NEP 1, format 1.0 to 3.0): C or Fortran order, either byte order, types f2, f4, f8 and u1.
///   T = double: every type, exactly.  T = float: every type; f8 rounds to nearest even.  T = uint8_t: u1 alone.
/// InvalidInput, naming file and field, for any other type, a byte order that is not explicit, a header that is not the
/// dictionary NumPy writes, a shape that is negative or overflows, and data shorter or longer than the shape asks for.
template <class T>
NpyArray<T> read_npy(const std::filesystem::path& path);
/// The same from memory; `name` stands for the path in messages.
template <class T>
NpyArray<T> parse_npy(std::span<const std::uint8_t> file, const std::string& name);

/// Writes format 1.0, C order, little-endian, as f4, f8 or u1 after T, complete or not at all. Throws InvalidArgument
/// unless values.size() is the product of the shape.
template <class T>
void write_npy(const std::filesystem::path& path, std::span<const std::size_t> shape, std::span<const T> values);
/// The same as f2, rounded to nearest even.
void write_npy_half(const std::filesystem::path& path, std::span<const std::size_t> shape,
                    std::span<const float> values);

}  // namespace orthant::kv

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::kv {

/// Element types of the safetensors format that this library knows; the format's own name is the part after k.
enum class TensorType {
  kBool,
  kU8,
  kI8,
  kF8_E4M3,
  kF8_E5M2,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

/// "F32", "BF16", ...
std::string_view to_string(TensorType type);
std::size_t element_bytes(TensorType type);

/// Where one tensor lies. Row-major; shape {} is a scalar, a zero in the shape an empty tensor.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::size_t> shape;
  std::size_t elements = 1;  ///< product of the shape
  std::size_t offset = 0;    ///< first byte, from the start of the data section
};

/// A safetensors file (https://huggingface.co/docs/safetensors, format 0.3), read through a memory map.
///   8 bytes n (little-endian) | n bytes of JSON {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {...}} |
///   data
/// Everything the header says is checked before anything is used. InvalidInput, naming file and tensor, when: the file
/// is shorter than it says; the header exceeds 100 MB, is no JSON object in UTF-8, or repeats a key; a type is unknown;
/// a shape or offset is negative, not an integer or overflows; a span disagrees with its shape, leaves the data
/// section, overlaps another or leaves a gap. Immutable and cheap to copy; calls may run concurrently.
class Safetensors {
 public:
  static Safetensors open(const std::filesystem::path& path);
  /// The same from memory; `name` stands for the path in messages.
  static Safetensors from_bytes(std::vector<std::uint8_t> bytes, std::string name);

  /// Path or name, for messages.
  const std::string& name() const { return name_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the order of their bytes in the file.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  /// Null when there is no such tensor.
  const TensorInfo* find(std::string_view name) const;

  /// The tensor's bytes as they lie in the file, not necessarily aligned to the element; valid as long as a copy of
  /// this object lives. `tensor` must be one of tensors().
  std::span<const std::uint8_t> bytes(const TensorInfo& tensor) const;
  /// Elements first, ..., first + out.size() - 1 of an F32, F16 or BF16 tensor, exactly as floats.
  /// Throws InvalidInput for another type and InvalidArgument for a range beyond the tensor.
  void read_floats(const TensorInfo& tensor, std::size_t first, std::span<float> out) const;

 private:
  Safetensors(std::shared_ptr<const void> owner, std::span<const std::uint8_t> file, std::string name);

  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> data_;
  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

/// One tensor to write: bytes.size() must be element_bytes(type) times the product of the shape.
struct TensorData {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::size_t> shape;
  std::span<const std::uint8_t> bytes;
};

/// Writes a file that Safetensors reads back, tensors in the given order; the same arguments make the same bytes, and
/// the file appears under its name only when complete. Throws InvalidArgument, before the file is touched, for
/// a repeated, reserved or non-UTF-8 name or a size that disagrees with its shape.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const TensorData> tensors);

/// Values as the bytes of an F32, F16 or BF16 tensor, rounded to nearest even. Throws InvalidArgument for another type.
std::vector<std::uint8_t> float_tensor_bytes(std::span<const float> values, TensorType type);

}  // namespace orthant::kv

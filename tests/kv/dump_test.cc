#include "orthant/kv/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

#include "kv/test_files.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

using testing::HasSubstr;

/// A small valid dump whose parts a test may change before it is opened: one layer, number 3, 2 KV heads, 4 query
/// heads, 5 tokens, keys of 4 channels, values of 2, queries of the last 2 tokens.
struct DumpParts {
  struct Tensor {
    std::vector<std::size_t> shape;
    std::vector<float> values;
  };

  DumpParts() {
    add("layers.3.keys", {2, 5, 4});
    add("layers.3.values", {2, 5, 2});
    add("layers.3.queries", {4, 2, 4});
  }
  void add(const std::string& name, const std::vector<std::size_t>& shape) {
    const std::size_t n = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.0F);
    tensors[name] = {shape, values};
  }
  Dump open() const {
    const auto path = std::filesystem::path(testing::TempDir()) / "small_dump.safetensors";
    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<TensorData> data;
    for (const auto& [name, tensor] : tensors) bytes.push_back(float_tensor_bytes(tensor.values, type));
    for (const auto& [name, tensor] : tensors) data.push_back({name, type, tensor.shape, bytes[data.size()]});
    write_safetensors(path, metadata, data);
    Dump dump = Dump::open(path);
    std::filesystem::remove(path);
    return dump;
  }
  std::string refusal_with(const std::string& key, const std::string& value) const {
    DumpParts changed = *this;
    changed.metadata[key] = value;
    return refusal([&] { changed.open(); });
  }

  std::map<std::string, std::string> metadata = {{"format", "orthant-kv-1"},
                                                 {"model", "m"},
                                                 {"source", "s"},
                                                 {"licence", "l"},
                                                 {"tokens", "5"},
                                                 {"softmax_scale", "0.5"},
                                                 {"rope_layout", "half"},
                                                 {"first_position", "7"},
                                                 {"layers", "3"},
                                                 {"layer_types", "sliding:2"},
                                                 {"rope_theta", "10000"}};
  std::map<std::string, Tensor> tensors;
  TensorType type = TensorType::kF32;
};

TEST(Dump, ReadsEveryField) {
  DumpParts parts;
  parts.add("layers.3.key_bias", {2, 4});
  parts.add("layers.3.keys_pre_rope", {2, 5, 4});
  const Dump dump = parts.open();
  EXPECT_EQ(dump.model(), "m");
  EXPECT_EQ(dump.source(), "s");
  EXPECT_EQ(dump.licence(), "l");
  EXPECT_EQ(dump.tokens(), 5U);
  EXPECT_EQ(dump.softmax_scale(), 0.5);
  EXPECT_EQ(dump.rope_layout(), RopeLayout::kHalf);
  EXPECT_EQ(dump.first_position(), 7U);
  ASSERT_EQ(dump.layers().size(), 1U);
  const DumpLayer& layer = dump.layers()[0];
  EXPECT_EQ(layer.index, 3);
  EXPECT_EQ(layer.kv_heads, 2U);
  EXPECT_EQ(layer.q_heads, 4U);
  EXPECT_EQ(layer.group_size(), 2U);
  EXPECT_EQ(layer.head_dim, 4U);
  EXPECT_EQ(layer.value_dim, 2U);
  EXPECT_EQ(layer.query_tokens, 2U);
  EXPECT_EQ(layer.window, 2U);
  EXPECT_EQ(layer.rope_theta, 10000);
  EXPECT_TRUE(layer.has_keys_pre_rope);
  EXPECT_TRUE(layer.has_key_bias);
  // Head 1, token 4, channel 3 is the last element of [2, 5, 4]: value 39; values [2, 5, 2]: 19; queries [4, 2, 4]: 31.
  EXPECT_EQ(dump.read(0, DumpTensor::kKeys, 1)(4, 3), 39);
  EXPECT_EQ(dump.read(0, DumpTensor::kKeysPreRope, 1)(4, 3), 39);
  EXPECT_EQ(dump.read(0, DumpTensor::kValues, 1)(4, 1), 19);
  EXPECT_EQ(dump.read(0, DumpTensor::kQueries, 3)(1, 3), 31);
  EXPECT_THAT(dump.key_bias(0, 1), testing::ElementsAre(4, 5, 6, 7));
  Matrix<float> part(2, 4);
  dump.read_rows(0, DumpTensor::kKeys, 1, 2, part.view());
  EXPECT_EQ(part(0, 0), 28);
}

TEST(Dump, WindowOfWSeesWTokens) {
  DumpLayer layer;
  layer.window = 4;
  EXPECT_EQ(layer.first_visible(10), 7U);
  EXPECT_EQ(layer.first_visible(2), 0U);
  EXPECT_EQ(layer.first_visible(3), 0U);
  EXPECT_EQ(layer.first_visible(4), 1U);
  layer.window = std::nullopt;
  EXPECT_EQ(layer.first_visible(10), 0U);
}

TEST(Dump, RefusesAbsurdMetadata) {
  const DumpParts parts;
  for (const char* scale : {"1e40", "1e7", "1e-7", "1e-300"})
    EXPECT_THAT(parts.refusal_with("softmax_scale", scale), HasSubstr("softmax_scale, got ")) << scale;
  EXPECT_EQ(parts.refusal_with("softmax_scale", "1e6"), "");
  for (const char* position : {"2147483644", "1000000000000", "18446744073709551615"})
    EXPECT_THAT(parts.refusal_with("first_position", position), HasSubstr("first_position, got ")) << position;
  EXPECT_EQ(parts.refusal_with("first_position", "2147483643"), "");  // 5 tokens: the last is at 2^31 - 1
}

TEST(Dump, RefusesValuesThatNoKeyHas) {
  DumpParts parts;
  for (const TensorType type : {TensorType::kF32, TensorType::kBF16}) {
    parts.type = type;
    parts.tensors["layers.3.keys"].values[26] = -0x1p19F;  // beyond half precision, not beyond the format
    EXPECT_EQ(parts.open().read(0, DumpTensor::kKeys, 1)(1, 2), -0x1p19F);
  }
  parts.type = TensorType::kF32;
  parts.tensors["layers.3.keys"].values[26] = 1e6F;
  EXPECT_EQ(parts.open().read(0, DumpTensor::kKeys, 1)(1, 2), 1e6F);
  parts.tensors["layers.3.keys"].values[26] = 1000001;
  EXPECT_THAT(refusal([&] { parts.open().read(0, DumpTensor::kKeys, 1); }),
              HasSubstr("layers.3.keys at head 1, token 1, channel 2, got 1000001"));
  parts.add("layers.3.key_bias", {2, 4});
  parts.tensors["layers.3.key_bias"].values[5] = -1e30F;
  EXPECT_THAT(refusal([&] { parts.open().key_bias(0, 1); }), HasSubstr("layers.3.key_bias at head 1, channel 1"));
}

TEST(Dump, RefusesBadMetadataByName) {
  const DumpParts parts;
  for (const auto& [key, value] : parts.metadata) {
    SCOPED_TRACE(key);
    DumpParts without = parts;
    without.metadata.erase(key);
    EXPECT_THAT(refusal([&] { without.open(); }), HasSubstr("metadata " + key + ", got nothing"));
  }
  EXPECT_THAT(parts.refusal_with("format", "orthant-kv-2"), HasSubstr("metadata format, got 'orthant-kv-2'"));
  for (const char* value : {"", "0", "-5", "5.0", "5 ", "99999999999999999999"}) {
    EXPECT_THAT(parts.refusal_with("tokens", value), HasSubstr("metadata tokens")) << value;
  }
  for (const char* value : {"", "0", "-1", "nan", "inf", "0.5x"}) {
    EXPECT_THAT(parts.refusal_with("softmax_scale", value), HasSubstr("metadata softmax_scale")) << value;
    EXPECT_THAT(parts.refusal_with("rope_theta", value), HasSubstr("metadata rope_theta")) << value;
  }
  EXPECT_THAT(parts.refusal_with("rope_layout", "neox"), HasSubstr("expected half, interleaved or none"));
  EXPECT_THAT(parts.refusal_with("first_position", "-1"), HasSubstr("metadata first_position"));
  for (const char* value : {"", "-3", "3,3", "3,", "x"}) {
    EXPECT_NE(parts.refusal_with("layers", value), "") << value;
  }
  for (const char* value : {"sliding:0", "sliding:", "sliding:-1", "sliding:2.5", "local", "Global"}) {
    EXPECT_THAT(parts.refusal_with("layer_types", value), HasSubstr("global or sliding:W")) << value;
  }
  EXPECT_THAT(parts.refusal_with("layer_types", "global,global"), HasSubstr("layer_types, got 2 entries, expected 1"));
  EXPECT_THAT(parts.refusal_with("rope_theta", "1,2"), HasSubstr("rope_theta, got 2 entries, expected 1"));
  EXPECT_THAT(parts.refusal_with("layers", "4"), HasSubstr("tensor layers.4.keys, got nothing"));
}

TEST(Dump, RefusesBadShapesByName) {
  const auto with = [](const std::string& name, const std::vector<std::size_t>& shape) {
    DumpParts parts;
    parts.add(name, shape);
    return refusal([&] { parts.open(); });
  };
  EXPECT_THAT(with("layers.3.keys", {2, 4, 4}),
              HasSubstr("layers.3.keys, got [2, 4, 4] in F32, expected [1 or more, 5"));
  EXPECT_THAT(with("layers.3.keys", {5, 4}), HasSubstr("layers.3.keys, got [5, 4]"));
  EXPECT_THAT(with("layers.3.keys", {0, 5, 4}), HasSubstr("layers.3.keys, got [0, 5, 4]"));
  EXPECT_THAT(with("layers.3.values", {1, 5, 2}), HasSubstr("layers.3.values, got [1, 5, 2]"));
  EXPECT_THAT(with("layers.3.queries", {3, 2, 4}), HasSubstr("query heads of layers.3.queries, got 3"));
  EXPECT_THAT(with("layers.3.queries", {4, 6, 4}), HasSubstr("query tokens of layers.3.queries, got 6"));
  EXPECT_THAT(with("layers.3.queries", {4, 2, 2}), HasSubstr("layers.3.queries, got [4, 2, 2]"));
  EXPECT_THAT(with("layers.3.keys_pre_rope", {2, 5, 2}), HasSubstr("layers.3.keys_pre_rope"));
  EXPECT_THAT(with("layers.3.key_bias", {3}), HasSubstr("layers.3.key_bias, got [3]"));
  EXPECT_THAT(with("layers.3.key_prerope", {2, 5, 4}), HasSubstr("tensors, got 4, expected 3"));
}

TEST(Dump, RotatedKeysComeInPairsOfChannels) {
  for (const std::size_t dim : {1U, 7U}) {
    DumpParts parts;
    parts.add("layers.3.keys", {2, 5, dim});
    parts.add("layers.3.queries", {4, 2, dim});
    for (const char* layout : {"half", "interleaved"}) {
      EXPECT_THAT(parts.refusal_with("rope_layout", layout),
                  HasSubstr("small_dump.safetensors: head dimension of layers.3.keys, got " + std::to_string(dim) +
                            ", expected an even number, since rope_layout is " + layout));
    }
    EXPECT_EQ(parts.refusal_with("rope_layout", "none"), "");
  }
}

TEST(Dump, WithoutRopeNeedsNoTheta) {
  DumpParts parts;
  parts.metadata["rope_layout"] = "none";
  parts.metadata.erase("rope_theta");
  parts.type = TensorType::kBF16;
  const Dump dump = parts.open();
  EXPECT_EQ(dump.layers()[0].rope_theta, 0);
  EXPECT_FALSE(dump.layers()[0].has_keys_pre_rope);
  EXPECT_THAT(dump.key_bias(0, 0), testing::ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(dump.read(0, DumpTensor::kKeys, 0)(1, 0), 4);
  EXPECT_THROW(dump.read(0, DumpTensor::kKeysPreRope, 0), InvalidArgument);
}

TEST(Dump, RefusesRangesOutsideTheTensor) {
  const Dump dump = DumpParts().open();
  Matrix<float> rows(2, 4);
  EXPECT_THROW(dump.read_rows(1, DumpTensor::kKeys, 0, 0, rows.view()), InvalidArgument);
  EXPECT_THROW(dump.read_rows(0, DumpTensor::kKeys, 2, 0, rows.view()), InvalidArgument);
  EXPECT_THROW(dump.read_rows(0, DumpTensor::kKeys, 0, 4, rows.view()), InvalidArgument);
  EXPECT_THROW(dump.read_rows(0, DumpTensor::kValues, 0, 0, rows.view()), InvalidArgument);
  EXPECT_THROW(dump.key_bias(0, 2), InvalidArgument);
}

TEST(Dump, NamesTheElementThatIsNotFinite) {
  for (const char* name : {"layers.3.keys", "layers.3.values", "layers.3.queries"}) {
    DumpParts parts;
    parts.tensors[name].values.back() = std::numeric_limits<float>::quiet_NaN();
    const Dump dump = parts.open();
    EXPECT_THAT(refusal([&] { dump.require_finite(0); }), HasSubstr(name));
  }
  DumpParts parts;
  parts.type = TensorType::kF16;
  parts.tensors["layers.3.keys"].values[21] = 1e6F;  // overflows F16: head 1, token 0, channel 1
  const Dump dump = parts.open();
  EXPECT_THAT(refusal([&] { dump.read(0, DumpTensor::kKeys, 1); }),
              HasSubstr("layers.3.keys at head 1, token 0, channel 1, got infinity"));
  dump.read(0, DumpTensor::kKeys, 0);
}

TEST(Dump, ShippedDumpIsWhatItsReadmeSays) {
  const Dump dump = Dump::open(data_dir() / "gemma3-270m-512.safetensors");
  EXPECT_EQ(dump.tokens(), 512U);
  EXPECT_EQ(dump.softmax_scale(), 1.0 / 16);
  ASSERT_EQ(dump.layers().size(), 6U);
  for (std::size_t i = 0; i < dump.layers().size(); ++i) {
    const DumpLayer& layer = dump.layers()[i];
    const bool global = layer.index == 5 || layer.index == 11 || layer.index == 17;
    EXPECT_EQ(layer.window.has_value(), !global);
    EXPECT_EQ(layer.rope_theta, global ? 1e6 : 1e4);
    EXPECT_EQ(layer.head_dim, 256U);
    EXPECT_EQ(layer.group_size(), 4U);
    EXPECT_EQ(layer.query_tokens, 64U);
    dump.require_finite(i);
    // The rotary embedding turns pairs of channels, so it keeps the norm of every key, up to the rounding to F16
    // (half an ulp, 2^-11, of each coordinate on both sides) and that of the sums here.
    const Matrix<float> keys = dump.read(i, DumpTensor::kKeys, 0);
    const Matrix<float> before = dump.read(i, DumpTensor::kKeysPreRope, 0);
    for (std::size_t t = 0; t < keys.rows(); ++t) {
      const auto norm = [](std::span<const float> x) {
        return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
      };
      EXPECT_NEAR(norm(keys.row(t)), norm(before.row(t)), 0x1p-10 * norm(before.row(t)));
    }
  }
}

}  // namespace
}  // namespace orthant::kv

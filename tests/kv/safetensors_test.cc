#include "orthant/kv/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "kv/test_files.h"

namespace orthant::kv {
namespace {

using testing::HasSubstr;

std::string header_refusal(std::string_view header, std::size_t data_bytes) {
  return refusal([&] { Safetensors::from_bytes(safetensors_file(header, data_bytes), "case"); });
}

/// One F32 tensor named "t" with this shape and these offsets.
std::string one_tensor(std::string_view shape, std::string_view offsets) {
  return R"({"t":{"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":)" + std::string(offsets) + "}}";
}

struct Refused {
  const char* what;
  std::string header;
  std::size_t data_bytes;
  const char* message;
};

TEST(Safetensors, RefusesBadHeadersByName) {
  const std::vector<Refused> cases = {
      {"begin negative", one_tensor("[1]", "[-16,0]"), 4, "tensor \"t\" data_offsets, got -16"},
      {"reversed", one_tensor("[1]", "[16,8]"), 16, "tensor \"t\" data_offsets, got [16,8], expected begin <= end"},
      {"beyond the file", one_tensor("[1]", "[0,1099511627776]"), 4, "within the 4 data bytes"},
      {"one offset", one_tensor("[1]", "[8]"), 8, "tensor \"t\" data_offsets, got [8], expected two numbers"},
      {"offsets as text", one_tensor("[1]", R"(["0","4"])"), 4, "tensor \"t\" data_offsets, got \"0\""},
      {"three offsets", one_tensor("[1]", "[0,4,8]"), 8, "tensor \"t\" data_offsets, got [0,4,8]"},
      {"offset 2^64", one_tensor("[1]", "[0,18446744073709551616]"), 4, "tensor \"t\" data_offsets"},
      {"fractional offset", one_tensor("[1]", "[0,4.0]"), 4, "tensor \"t\" data_offsets, got 4.0"},
      {"span too short", one_tensor("[1000,1000]", "[0,4]"), 4, "4000000 bytes for shape [1000,1000]"},
      {"span too long", one_tensor("[2,2]", "[0,12]"), 12, "16 bytes for shape [2,2]"},
      {"elements wrap to 0", one_tensor("[4294967296,4294967296]", "[0,0]"), 0, "shape, got [4294967296,4294967296]"},
      {"bytes wrap to 4", R"({"t":{"dtype":"U8","shape":[4611686018427387905,4],"data_offsets":[0,4]}})", 4,
       "tensor \"t\" shape"},
      {"bytes wrap by the element size", one_tensor("[4611686018427387904]", "[0,0]"), 0, "tensor \"t\" shape"},
      {"negative size", one_tensor("[-1]", "[0,4]"), 4, "tensor \"t\" shape, got -1"},
      {"no shape", R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor \"t\" shape, got nothing"},
      {"shape no array", one_tensor("4", "[0,4]"), 4, "tensor \"t\" shape, got 4"},
      {"unknown type", R"({"t":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor \"t\" dtype, got \"F31\""},
      {"type no text", R"({"t":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})", 4, "tensor \"t\" dtype, got 3"},
      {"entry no object", R"({"t":[]})", 0, "tensor \"t\" entry, got array"},
      {"overlap",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "tensor \"b\" overlaps"},
      {"same bytes twice",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "tensor \"b\" overlaps"},
      {"gap",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
       12, "tensor \"b\" leaves a gap"},
      {"gap in front", one_tensor("[1]", "[4,8]"), 8, "tensor \"t\" leaves a gap"},
      {"data left over", one_tensor("[1]", "[0,4]"), 5, "data after the last tensor, got 1 bytes"},
      {"duplicate tensor",
       R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "header key \"t\", got a duplicate"},
      {"duplicate field", R"({"t":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", 4,
       "header key \"dtype\", got a duplicate"},
      {"duplicate metadata", R"({"__metadata__":{"a":"1","a":"2"}})", 0, "header key \"a\", got a duplicate"},
      {"duplicate after escapes", R"({"__metadata__":{"a":"1","\u0061":"2"}})", 0, "a duplicate"},
      {"metadata no text", R"({"__metadata__":{"tokens":512}})", 0, "metadata \"tokens\", got number"},
      {"metadata no object", R"({"__metadata__":"x"})", 0, "__metadata__, got string"},
      {"not UTF-8", "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "UTF-8"},
      {"cut UTF-8", "{\"__metadata__\":{\"a\":\"\xe2\x82\"}}", 0, "UTF-8"},
      {"cut JSON", R"({"t":{"dtype":"F32")", 0, "header, got"},
      {"two objects", "{}{}", 0, "header, got"},
      {"an array", "[]", 0, "expected a JSON object"},
      {"leading space", " {}", 0, "expected a JSON object"},
      {"deep nesting", "{\"t\":" + std::string(100000, '['), 0, "header nesting"},
      {"control characters in a name", "{\"a\\u001b[2J\":3}", 0, "tensor \"a\\u001b[2J\" entry"},
  };
  for (const Refused& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string message = header_refusal(c.header, c.data_bytes);
    EXPECT_THAT(message, HasSubstr(c.message));
    EXPECT_THAT(message, HasSubstr("case: "));
  }
}

TEST(Safetensors, RefusesBadHeaderLengths) {
  const auto refuse = [](std::vector<std::uint8_t> file) {
    return refusal([&] { Safetensors::from_bytes(std::move(file), "case"); });
  };
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_THAT(refuse({}), HasSubstr("0 bytes, expected at least 8"));
  EXPECT_THAT(refuse(Bytes(7)), HasSubstr("7 bytes, expected at least 8"));
  EXPECT_THAT(refuse({0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}),
              HasSubstr("header length, got 18446744073709551611"));
  EXPECT_THAT(refuse(Bytes(8, 0xFF)), HasSubstr("header length, got 18446744073709551615"));
  EXPECT_THAT(refuse(Bytes(8)), HasSubstr("header, got nothing"));
  Bytes long_header(100);
  long_header[0] = 200;
  EXPECT_THAT(refuse(long_header), HasSubstr("header length, got 200, expected at most 92"));
}

TEST(Safetensors, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(refusal([] { Safetensors::open("/nonexistent/file"); }), HasSubstr("/nonexistent/file"));
  EXPECT_THAT(refusal([] { Safetensors::open("/tmp"); }), HasSubstr("got a directory"));
  EXPECT_THAT(refusal([] { Safetensors::open("/dev/zero"); }), HasSubstr("got a device"));
}

TEST(Safetensors, EmptyTensorsAndScalarsAreValid) {
  const auto file =
      Safetensors::from_bytes(safetensors_file(R"({"e":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},)"
                                               R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                                               4),
                              "case");
  ASSERT_NE(file.find("e"), nullptr);
  EXPECT_EQ(file.find("e")->elements, 0U);
  EXPECT_EQ(file.bytes(*file.find("e")).size(), 0U);
  EXPECT_EQ(file.find("s")->elements, 1U);
  std::vector<float> none;
  file.read_floats(*file.find("e"), 0, none);
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_TRUE(Safetensors::from_bytes(safetensors_file("{}", 0), "case").tensors().empty());
}

class SafetensorsFile : public testing::Test {
 protected:
  ~SafetensorsFile() override { std::filesystem::remove(path_); }
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".safetensors");
};

TEST_F(SafetensorsFile, WritesWhatItReads) {
  const std::vector<float> values = {0.0F, -0.0F, 1.0F, -65504.0F, 0x1p-24F, 1.0F / 3.0F};
  const std::array types = {TensorType::kF32, TensorType::kF16, TensorType::kBF16};
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TensorData> tensors;
  for (const TensorType type : types) bytes.push_back(float_tensor_bytes(values, type));
  // An odd number of bytes first: what follows is not aligned to its element.
  const std::vector<std::uint8_t> odd = {7, 8, 9};
  tensors.push_back({"odd", TensorType::kU8, {3}, odd});
  for (std::size_t i = 0; i < types.size(); ++i) {
    tensors.push_back({std::string(to_string(types[i])), types[i], {2, 3}, bytes[i]});
  }
  write_safetensors(path_, {{"format", "test"}, {"licence", "ümlaut"}}, tensors);

  const Safetensors file = Safetensors::open(path_);
  EXPECT_EQ(file.name(), path_.string());
  EXPECT_EQ(file.metadata().at("licence"), "ümlaut");
  ASSERT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.tensors()[0].name, "odd");
  EXPECT_THAT(file.bytes(file.tensors()[0]), testing::ElementsAreArray(odd));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i + 1];
    EXPECT_EQ(tensor.type, types[i]);
    EXPECT_THAT(tensor.shape, testing::ElementsAre(2U, 3U));
    std::vector<float> read(6);
    file.read_floats(tensor, 0, read);
    // Unit roundoff 2^-11 (F16) and 2^-8 (BF16) of values within range; the first four are exact in F16.
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(read[k], values[k], std::abs(values[k]) * 0x1p-8F);
    EXPECT_TRUE(std::signbit(read[1]));
    std::vector<float> tail(2);
    file.read_floats(tensor, 4, tail);
    EXPECT_EQ(tail[1], read[5]);
    EXPECT_THROW(file.read_floats(tensor, 5, tail), InvalidArgument);
    EXPECT_THROW(file.read_floats(tensor, std::numeric_limits<std::size_t>::max(), tail), InvalidArgument);
  }
  std::vector<float> read(3);
  EXPECT_THAT(refusal([&] { file.read_floats(file.tensors()[0], 0, read); }),
              HasSubstr("tensor \"odd\" dtype, got U8"));
}

TEST_F(SafetensorsFile, EveryTruncationIsRefused) {
  const std::vector<std::uint8_t> values(12);
  write_safetensors(path_, {{"k", "v"}}, std::array{TensorData{"t", TensorType::kF32, {3}, values}});
  std::ifstream in(path_, std::ios::binary);
  const std::vector<char> whole{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal([&] { Safetensors::from_bytes(part, "case"); }), "") << size;
  }
}

TEST_F(SafetensorsFile, WriterRefusesWhatTheReaderWould) {
  const std::vector<std::uint8_t> values(8);
  const TensorData good{"t", TensorType::kF32, {2}, values};
  const auto refuses = [&](const std::vector<TensorData>& tensors) {
    EXPECT_THROW(write_safetensors(path_, {}, tensors), InvalidArgument);
    EXPECT_FALSE(std::filesystem::exists(path_));
  };
  refuses({good, good});
  refuses({{"__metadata__", TensorType::kF32, {2}, values}});
  refuses({{"t", TensorType::kF32, {3}, values}});
  refuses({{"t", TensorType::kF32, {std::size_t{1} << 62, 4}, {}}});
  refuses({{"\xff", TensorType::kF32, {2}, values}});
  EXPECT_THROW(float_tensor_bytes({}, TensorType::kU8), InvalidArgument);
}

}  // namespace
}  // namespace orthant::kv

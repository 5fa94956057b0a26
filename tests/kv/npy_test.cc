#include "orthant/kv/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <limits>

#include "kv/test_files.h"

namespace orthant::kv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint8_t> npy_file(std::string_view header, std::string_view data, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  text += header;
  text += data;
  return to_bytes(text);
}

std::string dictionary(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  std::string text = "{'descr': '";
  text.append(descr).append("', 'fortran_order': ").append(fortran).append(", 'shape': ").append(shape);
  return text + ", }\n";
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string npy_refusal(const std::vector<std::uint8_t>& file) {
  return refusal([&] { parse_npy<float>(file, "case"); });
}

TEST(Npy, FortranOrderIsTransposed) {
  const auto array =
      parse_npy<float>(npy_file(dictionary("<f4", "(2, 3)", "True"), floats({1, 2, 3, 4, 5, 6})), "case");
  EXPECT_THAT(array.shape, ElementsAre(2U, 3U));
  EXPECT_THAT(array.values, ElementsAre(1, 3, 5, 2, 4, 6));
  // Three axes: element (i, j, k) lies at i + 2 j + 4 k of the file.
  const auto cube =
      parse_npy<float>(npy_file(dictionary("<f4", "(2, 2, 2)", "True"), floats({0, 1, 2, 3, 4, 5, 6, 7})), "case");
  EXPECT_THAT(cube.values, ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
}

TEST(Npy, ByteOrders) {
  using namespace std::string_view_literals;
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary(">f4", "(1,)"), "\x3f\x80\0\0"sv), "case").values,
              ElementsAre(1.0F));
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary("<f2", "(1,)"), "\x01\x3c"sv), "case").values,
              ElementsAre(1.0F + 0x1p-10F));
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary(">f2", "(1,)"), "\x3c\x01"sv), "case").values,
              ElementsAre(1.0F + 0x1p-10F));
  EXPECT_THAT(parse_npy<double>(npy_file(dictionary(">f8", "(1,)"), "\x3f\xf0\0\0\0\0\0\x01"sv), "case").values,
              ElementsAre(1.0 + 0x1p-52));
  for (const char* descr : {"=f4", "|f4", "f4", ">i2", "<c8", "|u2", "<u1", "|S4", "<f16", ""}) {
    EXPECT_THAT(npy_refusal(npy_file(dictionary(descr, "(1,)"), floats({1}))),
                HasSubstr("type, got '" + std::string(descr)));
  }
}

TEST(Npy, ShapesThatTupleSyntaxAllows) {
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary("<f4", "(2,3,)"), floats({1, 2, 3, 4, 5, 6})), "case").shape,
              ElementsAre(2U, 3U));
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary("<f4", "()"), floats({5})), "case").values, ElementsAre(5.0F));
  EXPECT_THAT(parse_npy<float>(npy_file(dictionary("<f4", "(0, 4)"), ""), "case").values, ElementsAre());
  // Keys in any order, either quote, no trailing comma.
  const auto other = npy_file(R"({"shape": (1,), "fortran_order": False, "descr": "|u1"})", "\x07");
  EXPECT_THAT(parse_npy<std::uint8_t>(other, "case").values, ElementsAre(7));
}

TEST(Npy, RefusesByName) {
  const std::string data = floats({1, 2, 3, 4});
  const auto with_shape = [&](std::string_view shape) { return npy_refusal(npy_file(dictionary("<f4", shape), data)); };
  EXPECT_THAT(with_shape("(3000000000, 1)"), HasSubstr("truncated data, got 16 bytes, expected 12000000000"));
  EXPECT_THAT(with_shape("(4294967296, 4294967296)"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("(4611686018427387904,)"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("(18446744073709551616,)"), HasSubstr("too large"));
  EXPECT_THAT(with_shape("(-1, 4)"), HasSubstr("negative"));
  EXPECT_THAT(with_shape("(4)"), HasSubstr("malformed tuple"));
  EXPECT_THAT(with_shape("(2 2)"), HasSubstr("malformed tuple"));
  EXPECT_THAT(with_shape("(,)"), HasSubstr("malformed"));
  EXPECT_THAT(with_shape("[4]"), HasSubstr("malformed"));
  EXPECT_THAT(with_shape("(3,)"), HasSubstr("data, got 16 bytes, expected 12"));
  EXPECT_THAT(with_shape("(2.0, 2)"), HasSubstr("malformed"));
  EXPECT_THAT(npy_refusal(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", data)),
              HasSubstr("structured"));
  EXPECT_THAT(npy_refusal(npy_file("{'descr': '<f4', 'shape': (4,), }", data)), HasSubstr("missing key"));
  EXPECT_THAT(npy_refusal(npy_file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", data)),
              HasSubstr("descr, got a second value"));
  EXPECT_THAT(npy_refusal(npy_file("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", data)),
              HasSubstr("expected True or False"));
  EXPECT_THAT(npy_refusal(npy_file(dictionary("<f4", "(4,)") + "x", data)), HasSubstr("after the dictionary"));
  EXPECT_THAT(npy_refusal(npy_file(dictionary("<f4", "(4,)"), data, 4)), HasSubstr("version, got 4.0"));
  EXPECT_THAT(npy_refusal(to_bytes("not an array")), HasSubstr("\\x93NUMPY"));
  EXPECT_THAT(npy_refusal({}), HasSubstr("\\x93NUMPY"));
  EXPECT_THAT(refusal([&] { parse_npy<std::uint8_t>(npy_file(dictionary("<f4", "(4,)"), data), "case"); }),
              HasSubstr("|u1"));
}

TEST(Npy, EveryTruncationIsRefused) {
  for (const int version : {1, 2, 3}) {
    const auto whole = npy_file(dictionary("<f4", "(4,)"), floats({1, 2, 3, 4}), version);
    EXPECT_EQ(npy_refusal(whole), "");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_NE(npy_refusal(part), "") << size;
    }
  }
}

TEST(Npy, WritesWhatItReads) {
  const auto path = std::filesystem::path(testing::TempDir()) / "written.npy";
  const std::array<std::size_t, 2> shape = {2, 2};
  const std::vector<double> values = {0.1, -0.0, 1e300, std::numeric_limits<double>::denorm_min()};
  write_npy<double>(path, shape, values);
  EXPECT_EQ(std::filesystem::file_size(path) % 64, 32U);  // the data start aligned to 64 bytes
  EXPECT_EQ(read_npy<double>(path).values, values);
  EXPECT_THAT(read_npy<double>(path).shape, ElementsAre(2U, 2U));
  const std::vector<float> singles = {1, 2, 3, 0.1F};
  write_npy<float>(path, shape, singles);
  EXPECT_EQ(read_npy<float>(path).values, singles);
  write_npy_half(path, shape, singles);
  EXPECT_THAT(read_npy<float>(path).values, ElementsAre(1, 2, 3, 0x1.998p-4F));
  const std::array<std::size_t, 1> line = {3};
  write_npy<std::uint8_t>(path, line, std::vector<std::uint8_t>{0, 128, 255});
  EXPECT_THAT(read_npy<std::uint8_t>(path).values, ElementsAre(0, 128, 255));
  EXPECT_THROW(write_npy<float>(path, line, singles), InvalidArgument);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace orthant::kv

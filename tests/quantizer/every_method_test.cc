// What holds for every method string of the grammar, over random shapes and awkward values.
#include "quantizer/every_method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/half.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/make_streaming.h"
#include "quantizer/coding.h"
#include "quantizer/counting_new.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kDims[] = {1, 2, 3, 7, 16, 24, 32, 48, 64, 80, 96, 112, 128, 192};
constexpr float kLargest = 8;

QuantizerContext vector_context(const Method& method) {
  QuantizerContext context;
  context.seed = 3;
  context.largest_magnitude = kLargest;
  if (method.has("channels"))
    for (std::size_t c = 0; c < static_cast<std::size_t>(method.integer("channels")); ++c)
      context.outlier_channels.push_back(2 * c);
  return context;
}

/// Nothing when the method refuses the dimension.
std::unique_ptr<VectorQuantizer> try_make(const Method& method, std::size_t dim) {
  try {
    return make_quantizer(method, dim, vector_context(method));
  } catch (const InvalidArgument&) {
    return nullptr;
  }
}

Matrix<float> normal_rows(std::size_t n, std::size_t dim, std::uint64_t trial) {
  Matrix<float> x(n, dim);
  RngStream(7, Domain::kData, trial).fill_normal(std::span<float>(x.data(), n * dim));
  return x;
}

/// What a stream of dimension `dim` may need, for keys and values.
struct StreamInputs {
  explicit StreamInputs(std::size_t dim) : bias(dim, 3.0F), calibration(normal_rows(24, dim, 99)) {}
  StreamContext context(const Method& method) const {
    StreamContext c;
    c.vectors = vector_context(method);
    c.rope.emplace(transform::RopeLayout::kHalf, bias.size(), 10000.0);
    c.first_position = 5;
    c.key_bias = bias;
    c.calibration = calibration.view();
    return c;
  }
  std::vector<float> bias;
  Matrix<float> calibration;
};

std::unique_ptr<StreamingQuantizer> try_stream(const Method& method, CacheSide side, const StreamInputs& inputs) {
  try {
    return make_streaming(method, side, inputs.bias.size(), inputs.context(method));
  } catch (const InvalidArgument&) {
    return nullptr;
  }
}

/// One vector method at dimension 64, or at the first of kDims that it takes.
template <class Check>
void for_each_vector_method(Check check) {
  std::size_t made = 0;
  for (const Method& method : every_method()) {
    if (!codes_single_vectors(method)) continue;
    const auto quantizer = try_make(method, 64);
    if (quantizer == nullptr) continue;
    SCOPED_TRACE(method.to_string());
    check(method, *quantizer);
    ++made;
  }
  EXPECT_GT(made, 200U);
}

template <class Check>
void for_each_stream(std::size_t dim, Check check) {
  const StreamInputs inputs(dim);
  std::size_t made = 0;
  for (const Method& method : every_method()) {
    if (needs_key_calibration(method)) continue;
    for (const CacheSide side : {CacheSide::kKeys, CacheSide::kValues}) {
      const auto quantizer = try_stream(method, side, inputs);
      if (quantizer == nullptr) continue;
      SCOPED_TRACE(method.to_string() + (side == CacheSide::kKeys ? " keys" : " values"));
      check(method, *quantizer);
      ++made;
    }
  }
  EXPECT_GT(made, 600U);
}

TEST(EveryMethod, EveryValueOfEveryOptionIsMadeOnOneSideOrTheOther) {
  // Refusals are combinations that cannot work; a value that is refused with everything else at its default is dead.
  const StreamInputs inputs(64);
  std::map<std::string, bool> made;
  for (const Method& method : every_method()) {
    if (needs_key_calibration(method)) continue;
    const bool works = try_stream(method, CacheSide::kKeys, inputs) != nullptr ||
                       try_stream(method, CacheSide::kValues, inputs) != nullptr;
    for (const FamilyRule& family : method_families()) {
      if (family.name != method.family()) continue;
      for (const ValueRule& rule : family.values) {
        bool& ever = made[std::string(family.name) + ' ' + std::string(rule.name) + '=' + method.text(rule.name)];
        ever = ever || works;
      }
    }
  }
  for (const auto& [value, works] : made) EXPECT_TRUE(works) << value;
  EXPECT_GT(made.size(), 400U);
}

TEST(EveryMethod, DescribesItselfByTheMethodThatMadeIt) {
  for_each_vector_method([](const Method& method, const VectorQuantizer& quantizer) {
    // Without a calibration centre=none and centre=auto are one.
    const Method described = parse_method(quantizer.describe());
    EXPECT_EQ(described.with("centre", "auto").to_string(), method.with("centre", "auto").to_string());
  });
  for_each_stream(64, [](const Method& method, const StreamingQuantizer& quantizer) {
    EXPECT_EQ(quantizer.describe(), method.to_string());
  });
}

TEST(EveryMethod, AnyShapeAndBatchGivesTheSameBytesAndFillsThemAll) {
  std::size_t shapes = 0;
  std::uint64_t trial = 0;
  for (const Method& method : every_method()) {
    if (!codes_single_vectors(method)) continue;
    RngStream rng(11, Domain::kData, ++trial);
    const std::size_t dim = kDims[rng.below(std::size(kDims))];
    const auto quantizer = try_make(method, dim);
    if (quantizer == nullptr) continue;
    SCOPED_TRACE(method.to_string() + " d=" + std::to_string(dim));
    ++shapes;
    const std::size_t n = 1 + rng.below(12);
    const std::size_t bytes = quantizer->bytes_per_vector();
    ASSERT_LE(quantizer->metadata_bytes(), bytes);
    const Matrix<float> x = normal_rows(n, dim, trial);
    Workspace work(quantizer->workspace_bytes(n));
    // Two fillings of the buffer tell which bytes were written; guards on both sides.
    Matrix<std::uint8_t> a(n + 2, bytes);
    Matrix<std::uint8_t> b(n + 2, bytes);
    std::fill_n(a.data(), (n + 2) * bytes, std::uint8_t{0xA5});
    std::fill_n(b.data(), (n + 2) * bytes, std::uint8_t{0x5A});
    quantizer->encode(x.view(), a.view().middle_rows(1, n), work);
    for (std::size_t first = 0; first < n;) {
      const std::size_t count = std::min<std::size_t>(1 + rng.below(4), n - first);
      quantizer->encode(x.view().middle_rows(first, count), b.view().middle_rows(1 + first, count), work);
      first += count;
    }
    ASSERT_TRUE(std::equal(a.data() + bytes, a.data() + (n + 1) * bytes, b.data() + bytes));
    for (const std::size_t guard : {std::size_t{0}, n + 1}) {
      for (const std::uint8_t byte : a.row(guard)) ASSERT_EQ(byte, 0xA5);
      for (const std::uint8_t byte : b.row(guard)) ASSERT_EQ(byte, 0x5A);
    }
    Matrix<float> together(n, dim);
    Matrix<float> alone(n, dim);
    std::vector<float> estimates(n);
    quantizer->decode(a.view().middle_rows(1, n), together.view(), work);
    quantizer->estimate(x.row(0), a.view().middle_rows(1, n), estimates, work);
    for (std::size_t i = 0; i < n; ++i) {
      float estimate = 0;
      quantizer->decode(a.view().middle_rows(1 + i, 1), alone.view().middle_rows(i, 1), work);
      quantizer->estimate(x.row(0), a.view().middle_rows(1 + i, 1), {&estimate, 1}, work);
      ASSERT_EQ(estimate, estimates[i]);
    }
    ASSERT_TRUE(std::equal(together.data(), together.data() + n * dim, alone.data()));
  }
  EXPECT_GT(shapes, 150U);
}

/// Finite for finite input, the same again, or a refusal that says where.
void expect_defined(const VectorQuantizer& quantizer, std::span<const float> x, const char* what) {
  SCOPED_TRACE(what);
  try {
    const auto packed = encode_one(quantizer, x);
    EXPECT_EQ(packed, encode_one(quantizer, x)) << "not a function of its input";
    for (const float v : decode_one(quantizer, packed)) ASSERT_TRUE(std::isfinite(v));
    ASSERT_TRUE(std::isfinite(estimate_one(quantizer, normal_vector(x.size(), 5), packed)));
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("row 0"), std::string::npos) << error.what();
  }
}

TEST(EveryMethod, AwkwardVectorsHaveDefinedResults) {
  for_each_vector_method([](const Method& method, const VectorQuantizer& quantizer) {
    EXPECT_EQ(round_trip(quantizer, std::vector<float>(64)), std::vector<float>(64));
    EXPECT_EQ(round_trip(quantizer, std::vector<float>(64, -0.0F)), std::vector<float>(64));
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> x = normal_vector(2 * 64, 1);
      x[64 + 5] = bad;
      std::vector<std::uint8_t> packed(2 * quantizer.bytes_per_vector(), 0xA5);
      Workspace work(quantizer.workspace_bytes(2));
      try {
        quantizer.encode({x.data(), 2, 64}, {packed.data(), 2, quantizer.bytes_per_vector()}, work);
        ADD_FAILURE() << "accepted " << bad;
      } catch (const InvalidArgument& error) {
        EXPECT_NE(std::string(error.what()).find("row 1, column 5"), std::string::npos) << error.what();
        EXPECT_EQ(packed, std::vector<std::uint8_t>(packed.size(), 0xA5)) << "written before the refusal";
      }
    }
    // A cast that does not saturate is what saturate=0 asks for: it makes NaN of what does not fit.
    if (method.has("saturate") && method.text("saturate") == "0") return;
    for (const float size : {1e-45F, 1e-39F, 1e-30F, 1e-20F, 1e-4F, 1.0F, 1e4F, 1e20F, 1e30F}) {
      std::vector<float> one(64);
      std::vector<float> two(64);
      std::vector<float> constant(64, size);
      std::vector<float> alternating(64);
      one[63] = size;
      two[3] = size;
      two[40] = -size;
      for (std::size_t j = 0; j < 64; ++j) alternating[j] = j % 2 == 0 ? size : -size;
      expect_defined(quantizer, one, ("one-hot " + std::to_string(std::log10(size))).c_str());
      expect_defined(quantizer, two, ("two-hot " + std::to_string(std::log10(size))).c_str());
      expect_defined(quantizer, constant, ("constant " + std::to_string(std::log10(size))).c_str());
      expect_defined(quantizer, alternating, ("alternating " + std::to_string(std::log10(size))).c_str());
    }
    std::vector<float> mixed = normal_vector(64, 8);
    mixed[0] = 1e-45F;
    mixed[1] = 1e30F;
    mixed[2] = -1e-39F;
    expect_defined(quantizer, mixed, "thirty orders of magnitude");
  });
}

/// Scales and formats that belong to the tensor do not follow the vector.
bool follows_the_scale(const Method& method) {
  if (method.family() == "fp8" || method.family() == "nvfp4") return method.text("scale") == "token";
  return true;
}

TEST(EveryMethod, PowersOfTwoScaleWhatIsDecoded) {
  // Metadata in binary16 keep their relative precision between 2^-14 and 2^15: vectors of norm about 8, factors of 4.
  for_each_vector_method([](const Method& method, const VectorQuantizer& quantizer) {
    if (!follows_the_scale(method)) return;
    const std::vector<float> x = normal_vector(64, 21);
    const std::vector<float> base = round_trip(quantizer, x);
    for (const float factor : {0.25F, 4.0F}) {
      std::vector<float> scaled = x;
      for (float& v : scaled) v *= factor;
      const std::vector<float> y = round_trip(quantizer, scaled);
      for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(y[j], base[j] * factor) << "column " << j;
    }
  });
}

/// Estimates of a sketch are not points of a code, iq4_nl fits its scale again, the fast search has one rescale for all
/// vectors, and the two parts of split shrink apart.
bool has_points(const Method& method) {
  // Behind a rotation a format meets its points within rounding, which can be the wrong side of an edge.
  if (!method.has("norm") && method.text("rotation") != "none") return false;
  if (method.has("search") && method.text("search") == "fast") return false;
  return method.family() != "turbo-prod" && method.family() != "qjl" && method.family() != "iq4_nl" &&
         method.family() != "split";
}

TEST(EveryMethod, WhatWasDecodedIsDecodedAgain) {
  // A decoded vector is coded by the same codes. Codes of directions may give it another length: centroids are shorter
  // than the vectors they stand for (turbo-mse: |x_hat|^2 = 1 - D in the mean), but the direction stays.
  for_each_vector_method([](const Method& method, const VectorQuantizer& quantizer) {
    if (!has_points(method)) return;
    for (std::uint64_t trial = 0; trial < 4; ++trial) {
      const std::vector<float> once = round_trip(quantizer, normal_vector(64, 30 + trial));
      const std::vector<float> twice = round_trip(quantizer, once);
      double dot = 0;
      double square = 0;
      for (std::size_t j = 0; j < 64; ++j) {
        dot += static_cast<double>(once[j]) * static_cast<double>(twice[j]);
        square += static_cast<double>(once[j]) * static_cast<double>(once[j]);
      }
      if (square == 0) continue;  // no bits
      const double length = dot / square;
      double rest = 0;
      for (std::size_t j = 0; j < 64; ++j)
        rest += std::pow(static_cast<double>(twice[j]) - length * static_cast<double>(once[j]), 2);
      // Steps and minima in binary16 (2^-11) or bfloat16 (2^-8) may move by a unit when they are fitted again.
      const bool coarse = method.has("meta") && method.text("meta") == "bf16";
      EXPECT_LT(std::sqrt(rest / square), coarse ? 0x1p-7 : 0x1p-9);
      if (method.family() == "turbo-mse") {
        EXPECT_LT(length, 1.1);
        EXPECT_GT(length, 0.75);
      } else {
        EXPECT_NEAR(length, 1, coarse ? 0x1p-7 : 0x1p-9);
      }
    }
  });
}

TEST(EveryMethod, HotPathsDoNotAllocate) {
  for_each_vector_method([](const Method&, const VectorQuantizer& quantizer) {
    constexpr std::size_t kRows = 5;
    const std::vector<float> x = normal_vector(kRows * 64, 11);
    std::vector<std::uint8_t> packed(kRows * quantizer.bytes_per_vector());
    std::vector<float> y(kRows * 64);
    const MatrixView<std::uint8_t> rows(packed.data(), kRows, quantizer.bytes_per_vector());
    Workspace work(quantizer.workspace_bytes(kRows));
    const std::size_t before = allocations();
    quantizer.encode({x.data(), kRows, 64}, rows, work);
    quantizer.decode(rows, {y.data(), kRows, 64}, work);
    quantizer.estimate(std::span(x).first(64), rows, std::span(y).first(kRows), work);
    EXPECT_EQ(allocations() - before, 0U);
    EXPECT_EQ(work.used(), 0U);
  });
  for_each_stream(64, [](const Method&, const StreamingQuantizer& quantizer) {
    const Matrix<float> x = normal_rows(40, 64, 12);
    Matrix<float> y(40, 64);
    Workspace work(quantizer.workspace_bytes());
    TokenStream stream(quantizer, 40);
    const std::size_t before = allocations();
    stream.append(x.view().middle_rows(0, 30), work);
    for (std::size_t t = 30; t < 40; ++t) stream.append(x.view().middle_rows(t, 1), work);
    stream.settle(work);
    stream.decode(0, y.view(), work);
    EXPECT_EQ(allocations() - before, 0U);
    EXPECT_EQ(work.used(), 0U);
  });
  const std::size_t before = allocations();
  const std::vector<int> one(1);
  EXPECT_EQ(allocations() - before, 1U) << "the counter counts";
}

TEST(EveryMethod, PartsOfAStreamAddUpToItsPackedBuffer) {
  for_each_stream(64, [](const Method&, const StreamingQuantizer& quantizer) {
    Workspace work(quantizer.workspace_bytes());
    TokenStream stream(quantizer, 80);
    const Matrix<float> x = normal_rows(80, 64, 13);
    for (const std::size_t count : {1U, 2U, 29U, 40U, 8U}) {
      stream.append(x.view().middle_rows(stream.tokens(), count), work);
      const StreamBytes bytes = stream.bytes();
      ASSERT_EQ(bytes.payload + bytes.metadata + bytes.exact, stream.packed().size());
      ASSERT_EQ(bytes.total(), stream.packed().size() + bytes.shared);
    }
    EXPECT_EQ(stream.tokens(), 80U);
  });
}

TEST(EveryMethod, AnyCutIntoCallsGivesTheSameStream) {
  std::uint64_t trial = 0;
  for (const std::size_t dim : {32U, 64U, 96U}) {
    const StreamInputs inputs(dim);
    for (const Method& method : every_method()) {
      if (needs_key_calibration(method)) continue;
      RngStream rng(14, Domain::kData, ++trial);
      const auto quantizer = try_stream(method, rng.below(2) == 0 ? CacheSide::kKeys : CacheSide::kValues, inputs);
      if (quantizer == nullptr) continue;
      SCOPED_TRACE(method.to_string() + " d=" + std::to_string(dim));
      const std::size_t n = 1 + rng.below(90);
      const Matrix<float> x = normal_rows(n, dim, trial);
      Workspace work(quantizer->workspace_bytes());
      TokenStream at_once(*quantizer, n);
      at_once.append(x.view(), work);
      TokenStream pieces(*quantizer, 0);
      for (std::size_t first = 0; first < n;) {
        const std::size_t count = std::min<std::size_t>(rng.below(12), n - first);
        pieces.append(x.view().middle_rows(first, count), work);
        if (rng.below(2) == 1 && first + count < n) pieces.settle(work);
        first += count;
      }
      ASSERT_EQ(pieces.packed(), at_once.packed());
      ASSERT_EQ(pieces.bytes(), at_once.bytes());
    }
  }
}

TEST(EveryMethod, HeadsInAnyOrderKeepTheirBytes) {
  for_each_stream(64, [](const Method&, const StreamingQuantizer& quantizer) {
    Workspace work(quantizer.workspace_bytes());
    constexpr std::size_t kTokens = 36;
    const Matrix<float> x[] = {normal_rows(kTokens, 64, 15), normal_rows(kTokens, 64, 16),
                               normal_rows(kTokens, 64, 17)};
    const auto interleaved = [&](std::initializer_list<std::size_t> order) {
      std::vector<TokenStream> heads(3, TokenStream(quantizer, kTokens));
      for (std::size_t t = 0; t < kTokens; t += 4)
        for (const std::size_t h : order) heads[h].append(x[h].view().middle_rows(t, 4), work);
      std::vector<std::vector<std::uint8_t>> bytes;
      for (const TokenStream& head : heads) bytes.push_back(head.packed());
      return bytes;
    };
    EXPECT_EQ(interleaved({0, 1, 2}), interleaved({2, 0, 1}));
  });
}

TEST(EveryMethod, AwkwardTokensHaveDefinedResults) {
  for_each_stream(64, [](const Method& method, const StreamingQuantizer& quantizer) {
    if (method.has("saturate") && method.text("saturate") == "0") return;
    Workspace work(quantizer.workspace_bytes());
    TokenStream stream(quantizer, 200);
    stream.append(normal_rows(10, 64, 18).view(), work);
    for (const float bad : {NAN, INFINITY}) {
      const std::vector<std::uint8_t> before = stream.packed();
      Matrix<float> x = normal_rows(3, 64, 19);
      x(2, 7) = bad;
      EXPECT_THROW(stream.append(x.view(), work), InvalidArgument);
      EXPECT_EQ(stream.packed(), before);
    }
    for (const float size : {0.0F, 1e-45F, 1e-39F, 1e-20F, 1.0F, 1e3F, 1e30F}) {
      for (const std::size_t hot : {1U, 2U, 64U}) {
        Matrix<float> x(1, 64);
        for (std::size_t j = 0; j < hot; ++j) x(0, 5 * j % 64) = j % 2 == 0 ? size : -size;
        try {
          stream.append(x.view(), work);
        } catch (const InvalidArgument&) {
          // Beyond the exact format, or a block with a norm that binary16 cannot hold was due. The stream starts anew.
          stream = TokenStream(quantizer, 200);
        }
      }
    }
    Matrix<float> y(stream.tokens(), 64);
    stream.decode(0, y.view(), work);
    for (std::size_t i = 0; i < stream.tokens() * 64; ++i) ASSERT_TRUE(std::isfinite(y.data()[i]));
  });
}

TEST(EveryMethod, UniformStreamsErrByHalfAStepAtMost) {
  // KIVI and per-channel groups over random shapes: |x - x_hat| <= range / (2^b - 1) / 2 of the group, and what the
  // outward rounding of minimum and step in the metadata adds: 2^-10 of |min| and of the step.
  struct Case {
    std::string method;
    CacheSide side;
    bool by_channel;
  };
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    RngStream rng(20, Domain::kData, trial);
    const std::size_t group = std::size_t{4} << rng.below(3);
    const std::size_t dim = group * (1 + rng.below(4));
    const std::size_t tokens = group * (1 + rng.below(5));
    const int bits = 1 + static_cast<int>(rng.below(8));
    const std::string tail = std::to_string(bits) + ",group=" + std::to_string(group);
    const bool kivi = rng.below(2) == 0;
    const bool keys = rng.below(2) == 0;
    const std::string text = kivi ? "kivi:" + tail + ",residual=" + std::to_string(group)
                                  : "uniform:" + tail + (keys ? ",axis=channel" : "");
    SCOPED_TRACE(text + " d=" + std::to_string(dim) + " n=" + std::to_string(tokens));
    const auto quantizer = make_streaming(parse_method(text), keys ? CacheSide::kKeys : CacheSide::kValues, dim, {});
    Matrix<float> x = normal_rows(tokens, dim, 40 + trial);
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t c = 0; c < dim; ++c) x(t, c) = half_to_float(float_to_half(x(t, c) * 3 + static_cast<float>(c)));
    Workspace work(quantizer->workspace_bytes());
    TokenStream stream(*quantizer, tokens);
    stream.append(x.view(), work);
    stream.settle(work);
    Matrix<float> y(tokens, dim);
    stream.decode(0, y.view(), work);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t c = 0; c < dim; ++c) {
        float low = x(t, c);
        float high = x(t, c);
        for (std::size_t i = 0; i < group; ++i) {
          const float v = keys ? x(t / group * group + i, c) : x(t, c / group * group + i);
          low = std::min(low, v);
          high = std::max(high, v);
        }
        const double least = static_cast<double>(low);
        const double step = (static_cast<double>(high) - least) / ((1 << bits) - 1);
        ASSERT_LE(std::abs(static_cast<double>(y(t, c)) - static_cast<double>(x(t, c))),
                  step / 2 + 0x1p-10 * (std::abs(least) + step * (1 << bits)))
            << t << ' ' << c;
      }
    }
  }
}

}  // namespace
}  // namespace orthant::quantizer

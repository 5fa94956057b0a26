// What holds for every method that codes a rotated direction, over awkward shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"
#include "orthant/quantizer/make_quantizer.h"
#include "quantizer/coding.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

const std::vector<std::string> kMethods = {
    "turbo-mse:0",
    "turbo-mse:3",
    "eden:4",
    "eden:1,scale=mse",
    "turbo-prod:1",
    "turbo-prod:3",
    "turbo-prod:2,sketch=orthogonal,gamma=constant",
    "turbo-prod:8,sketch=hadamard,rotation=kac:2",
    "qjl:77",
    "rabitq:1",
    "rabitq:4",
    "rabitq:7,bounds=1,rotation=hadamard:3",
    "rabitq:3,search=fast,rotation=fht-kac",
    "polar:4",
    "polar:1,rotation=hadamard:2",
};

std::unique_ptr<VectorQuantizer> make(const std::string& text, std::size_t d) {
  return make_quantizer(parse_method(text + ",norm=f32"), d, {.seed = 2});
}

bool takes(const std::string& text, std::size_t d) { return !text.starts_with("polar") || d % 16 == 0; }

TEST(RotatedMethods, PowersOfTwoChangeTheLengthAlone) {
  for (const std::string& text : kMethods) {
    for (const std::size_t d : {1U, 2U, 3U, 16U, 80U, 96U, 112U, 192U}) {
      if (!takes(text, d)) continue;
      SCOPED_TRACE(text + " d=" + std::to_string(d));
      const auto quantizer = make(text, d);
      const std::vector<float> x = normal_vector(d, d);
      const std::vector<float> base = round_trip(*quantizer, x);
      const std::vector<float> q = normal_vector(d, d + 1);
      const float score = estimate_one(*quantizer, q, encode_one(*quantizer, x));
      for (const float factor : {0x1p-90F, 0.25F, 0x1p60F}) {
        std::vector<float> scaled = x;
        for (float& v : scaled) v *= factor;
        const std::vector<std::uint8_t> packed = encode_one(*quantizer, scaled);
        const std::vector<float> x_hat = decode_one(*quantizer, packed);
        for (std::size_t j = 0; j < d; ++j) EXPECT_EQ(x_hat[j], base[j] * factor);
        EXPECT_EQ(estimate_one(*quantizer, q, packed), score * factor);
      }
      // The estimate is linear in the query: -q gives the opposite.
      std::vector<float> opposite = q;
      for (float& v : opposite) v = -v;
      EXPECT_EQ(estimate_one(*quantizer, opposite, encode_one(*quantizer, x)), -score);
    }
  }
}

TEST(RotatedMethods, ExtremeInputsHaveDefinedResults) {
  for (const std::string& text : kMethods) {
    for (const std::size_t d : {1U, 16U, 80U}) {
      if (!takes(text, d)) continue;
      SCOPED_TRACE(text + " d=" + std::to_string(d));
      const auto quantizer = make(text, d);
      const std::vector<float> q = normal_vector(d, 1);
      for (const float size : {1e-45F, 1e-40F, 1e-23F, 1.0F, 1e23F, 1e30F, 8e36F}) {
        for (const std::size_t hot : {std::size_t{1}, std::min<std::size_t>(2, d), d}) {
          std::vector<float> x(d);
          for (std::size_t j = 0; j < hot; ++j) x[j] = j % 2 == 0 ? size : -size;
          const std::vector<std::uint8_t> packed = encode_one(*quantizer, x);
          EXPECT_EQ(packed, encode_one(*quantizer, x)) << "not a function of its input";
          for (const float v : decode_one(*quantizer, packed)) EXPECT_TRUE(std::isfinite(v)) << size << " " << hot;
          EXPECT_TRUE(std::isfinite(estimate_one(*quantizer, q, packed)));
        }
      }
    }
  }
}

TEST(RotatedMethods, ConcurrentCallsOnOneObjectAgree) {
  for (const std::string& text : kMethods) {
    const std::size_t d = 64;
    const auto quantizer = make(text, d);
    const std::size_t n = 24;
    Matrix<float> x(n, d);
    for (std::size_t i = 0; i < n; ++i) RngStream(5, Domain::kData, i).fill_normal(x.row(i));
    const auto run = [&](int threads) {
      Matrix<std::uint8_t> packed(n, quantizer->bytes_per_vector());
      std::vector<float> estimates(n);
      parallel_for(n, threads, [&](std::size_t i) {
        Workspace work(quantizer->workspace_bytes(1));
        quantizer->encode(x.view().middle_rows(i, 1), packed.view().middle_rows(i, 1), work);
        quantizer->estimate(x.row(0), packed.view().middle_rows(i, 1), std::span(estimates).subspan(i, 1), work);
      });
      return std::pair(std::vector<std::uint8_t>(packed.data(), packed.data() + n * quantizer->bytes_per_vector()),
                       estimates);
    };
    EXPECT_EQ(run(1), run(3)) << text;
  }
}

TEST(RotatedMethods, ErrorNeverGrowsWithTheBits) {
  // Mean error over 200 vectors, from one bit to eight; each bit at least halves it.
  for (const char* family : {"turbo-mse:", "rabitq:", "polar:"}) {
    double before = 2;
    for (int bits = 1; bits <= 8; ++bits) {
      const auto quantizer = make(family + std::to_string(bits), 64);
      double error = 0;
      for (std::uint64_t trial = 0; trial < 200; ++trial) {
        std::vector<float> x(64);
        RngStream(6, Domain::kData, trial).fill_unit_vector(x);
        const std::vector<float> x_hat = round_trip(*quantizer, x);
        error += (1 + inner_product(x_hat, x_hat) - 2 * inner_product(x, x_hat)) / 200;
      }
      EXPECT_LT(error, before * (bits == 1 || (family[0] == 'p' && bits < 4) ? 0.8 : 0.5)) << family << bits;
      before = error;
    }
  }
}

}  // namespace
}  // namespace orthant::quantizer

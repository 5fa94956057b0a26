#include "orthant/quantizer/make_quantizer.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/quantizer/float_format.h"
#include "orthant/quantizer/fp4_format.h"
#include "orthant/quantizer/fp8_format.h"
#include "orthant/quantizer/ggml_format.h"
#include "orthant/quantizer/polar.h"
#include "orthant/quantizer/qjl.h"
#include "orthant/quantizer/rabitq.h"
#include "orthant/quantizer/sketch.h"
#include "orthant/quantizer/split_channels.h"
#include "orthant/quantizer/transformed_quantizer.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/quantizer/turbo_prod.h"
#include "orthant/quantizer/uniform_rows.h"
#include "orthant/transform/make_rotation.h"
#include "quantizer/method_values.h"

namespace orthant::quantizer {
namespace {

using Maker = std::unique_ptr<VectorQuantizer> (*)(const Method&, std::size_t dim, const QuantizerContext&);

ScaleScope scale_scope(const std::string& name) {
  return name == "tensor"  ? ScaleScope::kTensor
         : name == "head"  ? ScaleScope::kHead
         : name == "token" ? ScaleScope::kToken
                           : ScaleScope::kNone;
}

/// The largest magnitude when the scope needs it, else 0.
float scope_magnitude(const Method& method, ScaleScope scope, const QuantizerContext& context) {
  if (scope != ScaleScope::kTensor && scope != ScaleScope::kHead) return 0;
  if (!context.largest_magnitude) {
    refuse_method(method, "scale=" + method.text("scale"), "no data to take it from",
                  "the largest magnitude, or scale=token or scale=none");
  }
  return *context.largest_magnitude;
}

std::shared_ptr<const transform::Rotation> rotation_of(const Method& method, std::size_t dim,
                                                       const QuantizerContext& context) {
  return transform::make_rotation(method.text("rotation"), dim, context.seed, context.index);
}

ScaleRule scale_rule(const Method& method) {
  if (!method.has("scale")) return ScaleRule::kRaw;
  const std::string& name = method.text("scale");
  return name == "unbiased" ? ScaleRule::kUnbiased : name == "mse" ? ScaleRule::kMse : ScaleRule::kMatched;
}

codebook::Codebook sphere_book(std::size_t dim, long long bits) {
  return codebook::sphere_codebook(static_cast<std::int64_t>(dim), static_cast<int>(bits));
}

/// turbo-mse and eden: the same codes, other scales.
std::unique_ptr<VectorQuantizer> make_centroids(const Method& method, std::size_t dim,
                                                const QuantizerContext& context) {
  return std::make_unique<TurboMse>(rotation_of(method, dim, context), sphere_book(dim, method.integer("bits")),
                                    TurboMseOptions{scale_rule(method), scale_format(method)});
}

std::unique_ptr<VectorQuantizer> make_turbo_prod(const Method& method, std::size_t dim,
                                                 const QuantizerContext& context) {
  const ResidualNorm residual = method.text("gamma") == "stored" ? ResidualNorm::kStored : ResidualNorm::kConstant;
  return std::make_unique<TurboProd>(rotation_of(method, dim, context), sphere_book(dim, method.integer("bits") - 1),
                                     sketch_of(method, dim, dim, context),
                                     TurboProdOptions{residual, scale_format(method)});
}

std::unique_ptr<VectorQuantizer> make_qjl(const Method& method, std::size_t dim, const QuantizerContext& context) {
  const auto rows = static_cast<std::size_t>(method.integer("rows"));
  return std::make_unique<Qjl>(rotation_of(method, dim, context), sketch_of(method, dim, rows, context),
                               scale_format(method));
}

std::unique_ptr<VectorQuantizer> make_rabitq(const Method& method, std::size_t dim, const QuantizerContext& context) {
  const GridSearch search = method.text("search") == "exact" ? GridSearch::kExact : GridSearch::kFast;
  return std::make_unique<Rabitq>(
      rotation_of(method, dim, context), static_cast<int>(method.integer("bits")),
      RabitqOptions{search, scale_format(method), method.integer("bounds") == 1, scale_rule(method)});
}

std::unique_ptr<VectorQuantizer> make_polar(const Method& method, std::size_t dim, const QuantizerContext& context) {
  return std::make_unique<Polar>(rotation_of(method, dim, context), static_cast<int>(method.integer("bits")),
                                 scale_format(method));
}

std::unique_ptr<VectorQuantizer> make_split(const Method& method, std::size_t dim, const QuantizerContext& context) {
  const auto count = static_cast<std::size_t>(method.integer("channels"));
  if (count >= dim || context.outlier_channels.size() != count) {
    refuse_method(method, "channels",
                  std::to_string(context.outlier_channels.size()) + " chosen of " + std::to_string(dim),
                  std::to_string(count) + ", fewer than all, chosen by calibration or from the data");
  }
  const std::string& bits = method.text("bits");
  const std::size_t plus = bits.find('+');
  const auto part = [&](std::size_t width, const std::string& its_bits, std::uint64_t index) {
    return std::make_shared<const TurboMse>(
        transform::make_rotation(method.text("rotation"), width, context.seed, index),
        sphere_book(width, std::stoi(its_bits)), TurboMseOptions{ScaleRule::kRaw, scale_format(method)});
  };
  // The two rotations must not come from the same numbers.
  constexpr std::uint64_t kRest = std::uint64_t{1} << 63;
  return std::make_unique<SplitChannels>(context.outlier_channels, part(count, bits.substr(0, plus), context.index),
                                         part(dim - count, bits.substr(plus + 1), context.index | kRest),
                                         method.to_string());
}

std::unique_ptr<VectorQuantizer> make_uniform(const Method& method, std::size_t dim, const QuantizerContext&) {
  return std::make_unique<UniformRows>(grid_of(method), size_value(method, "group"), dim);
}

std::unique_ptr<VectorQuantizer> make_fp8(const Method& method, std::size_t dim, const QuantizerContext& context) {
  const std::string& name = method.text("format");
  const Fp8Type type = name == "e4m3" ? Fp8Type::kE4M3 : name == "e5m2" ? Fp8Type::kE5M2 : Fp8Type::kE4M3Fnuz;
  const ScaleScope scope = scale_scope(method.text("scale"));
  const float scale = fp8_scale(scope_magnitude(method, scope, context), type);
  return std::make_unique<Fp8Format>(type, dim, scope, scale, flag_value(method, "saturate"));
}

std::unique_ptr<VectorQuantizer> make_nvfp4(const Method& method, std::size_t dim, const QuantizerContext& context) {
  const ScaleScope scope = scale_scope(method.text("scale"));
  return std::make_unique<Nvfp4Format>(dim, scope, nvfp4_global_scale(scope_magnitude(method, scope, context)));
}

std::unique_ptr<VectorQuantizer> make_mxfp4(const Method&, std::size_t dim, const QuantizerContext&) {
  return std::make_unique<Mxfp4Format>(dim);
}

template <GgmlType type>
std::unique_ptr<VectorQuantizer> make_ggml(const Method&, std::size_t dim, const QuantizerContext&) {
  return std::make_unique<GgmlFormat>(type, dim);
}

template <FloatType type>
std::unique_ptr<VectorQuantizer> make_float(const Method&, std::size_t dim, const QuantizerContext&) {
  return std::make_unique<FloatFormat>(type, dim);
}

struct Entry {
  std::string_view family;
  Maker make;
  bool has_own_rotation = false;  // the rotation is part of the method, not a map before it
};

constexpr std::array kMakers = {
    Entry{"turbo-mse", make_centroids, true},
    Entry{"eden", make_centroids, true},
    Entry{"turbo-prod", make_turbo_prod, true},
    Entry{"qjl", make_qjl, true},
    Entry{"rabitq", make_rabitq, true},
    Entry{"polar", make_polar, true},
    Entry{"split", make_split, true},
    Entry{"uniform", make_uniform},
    Entry{"fp8", make_fp8},
    Entry{"nvfp4", make_nvfp4},
    Entry{"mxfp4", make_mxfp4},
    Entry{"q8_0", make_ggml<GgmlType::kQ8_0>},
    Entry{"q5_1", make_ggml<GgmlType::kQ5_1>},
    Entry{"q5_0", make_ggml<GgmlType::kQ5_0>},
    Entry{"q4_1", make_ggml<GgmlType::kQ4_1>},
    Entry{"q4_0", make_ggml<GgmlType::kQ4_0>},
    Entry{"iq4_nl", make_ggml<GgmlType::kIq4Nl>},
    Entry{"bf16", make_float<FloatType::kBf16>},
    Entry{"f16", make_float<FloatType::kF16>},
    Entry{"f32", make_float<FloatType::kF32>},
};

/// Options that concern more than single vectors, and the values that ask for nothing.
constexpr std::pair<std::string_view, std::string_view> kBeyondVectors[] = {
    {"match", "none"}, {"segments", "1"},       {"centre", "auto"},     {"align", "none"}, {"bias", "none"},
    {"axis", "token"}, {"calibration", "none"}, {"sink", "0"},          {"residual", "0"}, {"exact", "f16"},
    {"outliers", "0"}, {"outlier_rows", "256"}, {"outlier_group", "32"}};

const std::pair<std::string_view, std::string_view>* option_beyond_vectors(const Method& method) {
  for (const auto& option : kBeyondVectors) {
    if (method.has(option.first) && method.text(option.first) != option.second && method.text(option.first) != "none") {
      return &option;
    }
  }
  return nullptr;
}

const Entry* entry_of(const Method& method) {
  for (const Entry& entry : kMakers) {
    if (entry.family == method.family()) return &entry;
  }
  return nullptr;
}

}  // namespace

bool codes_single_vectors(const Method& method) {
  return entry_of(method) != nullptr && option_beyond_vectors(method) == nullptr;
}

std::unique_ptr<VectorQuantizer> make_quantizer(const Method& method, std::size_t dim,
                                                const QuantizerContext& context) {
  const Entry* entry = entry_of(method);
  if (entry == nullptr) refuse_method(method, "method", method.family(), "a quantizer of single vectors");
  if (const auto* option = option_beyond_vectors(method)) {
    refuse_method(method, option->first, method.text(option->first),
                  std::string(option->second) + ", for single vectors");
  }
  auto quantizer = entry->make(method, dim, context);
  if (entry->has_own_rotation || method.text("rotation") == "none") return quantizer;
  return std::make_unique<TransformedQuantizer>(rotation_of(method, dim, context), std::move(quantizer));
}

}  // namespace orthant::quantizer

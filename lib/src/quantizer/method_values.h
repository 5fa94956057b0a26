#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "orthant/quantizer/float_format.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/meta_type.h"
#include "orthant/quantizer/method.h"
#include "orthant/quantizer/scale.h"
#include "orthant/quantizer/sketch.h"
#include "orthant/quantizer/uniform_grid.h"

namespace orthant::quantizer {

/// Throws InvalidArgument "method "...": <what>, got <got>, expected <expected>".
[[noreturn]] void refuse_method(const Method& method, std::string_view what, std::string_view got,
                                std::string_view expected);

/// The option `name` as the type it stands for; the grammar has checked the text.
std::size_t size_value(const Method& method, std::string_view name);
bool flag_value(const Method& method, std::string_view name);
FloatType float_value(const Method& method, std::string_view name);

/// The format of norm=f16 or f32.
ScaleFormat scale_format(const Method& method);
/// The sketch of the option sketch, from the context's seed and index.
std::shared_ptr<const Sketch> sketch_of(const Method& method, std::size_t dim, std::size_t rows,
                                        const QuantizerContext& context);

/// The grid of bits, meta and, where the family has it, sym.
UniformGrid grid_of(const Method& method);

}  // namespace orthant::quantizer

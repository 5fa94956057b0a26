#pragma once

#include <cstddef>
#include <string_view>

#include "orthant/quantizer/float_format.h"
#include "orthant/quantizer/meta_type.h"
#include "orthant/quantizer/method.h"
#include "orthant/quantizer/uniform_grid.h"

namespace orthant::quantizer {

/// Throws InvalidArgument "method "...": <what>, got <got>, expected <expected>".
[[noreturn]] void refuse_method(const Method& method, std::string_view what, std::string_view got,
                                std::string_view expected);

/// The option `name` as the type it stands for; the grammar has checked the text.
std::size_t size_value(const Method& method, std::string_view name);
bool flag_value(const Method& method, std::string_view name);
FloatType float_value(const Method& method, std::string_view name);

/// The grid of bits, meta and, where the family has it, sym.
UniformGrid grid_of(const Method& method);

}  // namespace orthant::quantizer

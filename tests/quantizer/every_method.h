#pragma once

#include <vector>

#include "orthant/quantizer/method.h"

namespace orthant::quantizer {

/// Methods that between them give every option of every quantizer family every value its grammar allows, numbers by
/// samples: first one option away from the defaults, then all options drawn at random. Made from method_families(), so
/// that a new family or option is tested without being named in a test. Values that need a file are left out.
std::vector<Method> every_method();

/// True when an option asks for what only a calibration of keys can give: match, centre or segments.
bool needs_key_calibration(const Method& method);

}  // namespace orthant::quantizer

#pragma once

#include <cstddef>

namespace orthant::quantizer {

/// Calls of operator new in this process so far, aligned ones included. Link counting_new.cc to replace the operators.
std::size_t allocations();

}  // namespace orthant::quantizer

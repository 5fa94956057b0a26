#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::validation {

/// Makes the quantizer that a claim is tried on: a method string, the dimension, and the (seed, index) of its random
/// maps. A test puts a faulty one here and sees the verdict change.
using SubjectMaker = std::function<std::unique_ptr<quantizer::VectorQuantizer>(
    const std::string& method, std::size_t dim, std::uint64_t seed, std::uint64_t index)>;

/// The quantizers that ship: quantizer::make_quantizer.
SubjectMaker shipped_subjects();

}  // namespace orthant::validation

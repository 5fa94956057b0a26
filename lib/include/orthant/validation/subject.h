#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "orthant/codebook/codebook.h"
#include "orthant/quantizer/vector_quantizer.h"
#include "orthant/transform/rotation.h"

namespace orthant::validation {

/// Makes the quantizer that a claim is tried on: a method string, the dimension, and the (seed, index) of its random
/// maps. A test puts a faulty one here and sees the verdict change.
using SubjectMaker = std::function<std::unique_ptr<quantizer::VectorQuantizer>(
    const std::string& method, std::size_t dim, std::uint64_t seed, std::uint64_t index)>;

/// The quantizers that ship: quantizer::make_quantizer.
SubjectMaker shipped_subjects();

/// The same for claims about a rotation itself and about a codebook itself: transform::make_rotation and
/// codebook::sphere_codebook.
using RotationMaker = std::function<std::shared_ptr<const transform::Rotation>(
    const std::string& rotation, std::size_t dim, std::uint64_t seed, std::uint64_t index)>;
using BookMaker = std::function<codebook::Codebook(std::int64_t dim, int bits)>;
RotationMaker shipped_rotations();
BookMaker shipped_books();

}  // namespace orthant::validation

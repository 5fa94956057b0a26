#include "orthant/core/version.h"

namespace orthant {

std::string_view version() { return ORTHANT_VERSION; }

}  // namespace orthant

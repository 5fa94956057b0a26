#include "codebook/proof.h"
#include "orthant/core/error.h"

namespace orthant::codebook {

bool proofs_available() { return false; }

ProvedNumbers prove(std::int64_t, std::span<const double>) {
  throw Error("codebook: this build has no ball arithmetic (Arb) to prove with; build with ORTHANT_WITH_ARB=ON");
}

}  // namespace orthant::codebook

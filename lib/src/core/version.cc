#include "orthant/core/version.h"

#include <Eigen/src/Core/util/Macros.h>
#include <cblas.h>
#include <fmt/core.h>
#include <oneapi/tbb/version.h>
#include <openssl/crypto.h>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

namespace orthant {

std::string_view version() { return ORTHANT_VERSION; }

std::vector<std::pair<std::string, std::string>> dependency_versions() {
  const auto joined = [](int a, int b, int c) { return fmt::format("{}.{}.{}", a, b, c); };
  return {{"OpenBLAS", fmt::format("{}, kernels for {}", openblas_get_config(), openblas_get_corename())},
          {"oneTBB", TBB_runtime_version()},
          {"Boost", joined(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
          {"Eigen", joined(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"fmt", joined(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"JSON", joined(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
          {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)}};
}

}  // namespace orthant

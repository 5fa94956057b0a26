#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orthant {

/// Base of every exception the library throws on purpose. The library never prints, aborts or exits.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller broke a documented requirement (shape, range, option). The command exits with 2.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file or buffer does not hold what its format promises. The command exits with 3.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// Throws InvalidArgument "<where>: <what>, got <got>, expected <expected>".
[[noreturn]] void throw_invalid_argument(std::string_view where, std::string_view what, std::string_view got,
                                         std::string_view expected);
/// Throws InvalidInput with the same wording.
[[noreturn]] void throw_invalid_input(std::string_view where, std::string_view what, std::string_view got,
                                      std::string_view expected);

[[noreturn]] void throw_wrong_size(std::string_view where, std::string_view what, std::size_t got,
                                   std::size_t expected);
/// Throws InvalidArgument "<where>: <what> is <got>, expected <expected>" unless the two sizes agree.
inline void require_size(std::string_view where, std::string_view what, std::size_t got, std::size_t expected) {
  if (got != expected) [[unlikely]]
    throw_wrong_size(where, what, got, expected);
}

}  // namespace orthant

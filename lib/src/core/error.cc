#include "orthant/core/error.h"

#include "orthant/core/printable.h"

namespace orthant {
namespace {

std::string message(std::string_view where, std::string_view what, std::string_view got, std::string_view expected) {
  std::string text;
  text.append(where).append(": ").append(what);
  text.append(", got ").append(got).append(", expected ").append(expected);
  return printable(text);
}

}  // namespace

void throw_invalid_argument(std::string_view where, std::string_view what, std::string_view got,
                            std::string_view expected) {
  throw InvalidArgument(message(where, what, got, expected));
}

void throw_invalid_input(std::string_view where, std::string_view what, std::string_view got,
                         std::string_view expected) {
  throw InvalidInput(message(where, what, got, expected));
}

void throw_wrong_size(std::string_view where, std::string_view what, std::size_t got, std::size_t expected) {
  throw_invalid_argument(where, what, std::to_string(got), std::to_string(expected));
}

}  // namespace orthant

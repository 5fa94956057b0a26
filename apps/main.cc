#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return orthant::apps::run_command(arguments, {std::cout, std::cerr, isatty(STDERR_FILENO) != 0});
}

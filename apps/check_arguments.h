#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace orthant::apps {

/// Before any work starts: looks at what was given to the parsed sub-command (and to its own sub-commands) and throws
/// InvalidArgument when
///  - a value is empty: no option takes one, and none may be left unused;
///  - a whole number is negative or does not fit 64 bits, where only an unsigned one makes sense;
///  - a file to be written is a directory, or lies in a folder that does not exist or cannot be written;
///  - two files to be written are the same one;
///  - a file to be written is one that the same command reads: it would be destroyed.
void check_arguments(const CLI::App& command);

/// Throws InvalidArgument, naming the ones that exist, when the first argument looks like a command and is none, or
/// when one that begins with "--" is no option of the command before it.
void require_known_names(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace orthant::apps

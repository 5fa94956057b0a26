#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::apps {

/// Numbers of a text or NumPy file, with the column names of a header line if there is one.
struct NumberFile {
  std::vector<std::string> header;
  std::vector<std::vector<double>> rows;  ///< rows of text lines; an array's rows, one row for a list
};

/// ".npy": one or two axes. Anything else: lines of numbers separated by commas, semicolons, blanks or tabs; '#' starts
/// a comment; an empty cell is left out; the first line may be a header. Throws InvalidInput, naming file and line, for
/// what is no number, an empty file, and more than 64 MiB.
NumberFile read_numbers(const std::string& path);

/// The text half of read_numbers; `where` stands for the path in messages.
NumberFile parse_numbers(std::string_view text, const std::string& where);

}  // namespace orthant::apps

// The table of a target, made from the bodies. Included inside its namespace after them; no include guard.

constexpr KernelTable make_table(std::string_view name, bool (*supported)()) {
  return {name,       Vec::kArithmetic, supported, prepare,        prepare_turned, find_scorer,  find_summer,
          largest_of, exponentials,     read_rows, sum_of_squares, find_codes,     multiply_rows};
}

// From float rows to codes: products with a matrix and the nearest level. Included inside each target's namespace after
// its vocabulary Vec; no include guard.

/// sum_j x_j^2 in sixteen chains.
inline float sum_of_squares(const float* x, std::size_t n) {
  Vec::Float squares[kChainVectors];
  for (std::size_t v = 0; v < kChainVectors; ++v) squares[v] = Vec::splat_float(0);
  const auto add = [&](const float* sixteen) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kChainVectors; ++v) {
      const Vec::Float y = Vec::load_float(sixteen + v * Vec::kLanes);
      squares[v] = Vec::add(squares[v], Vec::mul(y, y));
    }
  };
  const std::size_t whole = n / kChains * kChains;
  for (std::size_t i = 0; i < whole; i += kChains) add(x + i);
  if (whole < n) {
    float rest[kChains] = {};
    std::copy(x + whole, x + n, rest);
    add(rest);
  }
  return sum_by_halves(squares);
}

/// Binary search: the number of thresholds below each coordinate. A step of 2^s compares with threshold code + 2^s - 1;
/// where registers hold the thresholds every step has them in a table of its own, at the code itself.
template <int kBits>
class Halving {
 public:
  explicit Halving(const CodeSearch& search) : Halving(search.thresholds.data(), std::make_index_sequence<kTables>{}) {}

  ORTHANT_INLINE Vec::Word code(Vec::Float y) const {
    Vec::Word code = Vec::splat(0);
    ORTHANT_UNROLL
    for (std::size_t i = 0; i < kBits; ++i) {
      const std::size_t s = kBits - 1 - i;
      const Vec::Float threshold = kInRegisters
                                       ? tables_[s].template at<0>(code)
                                       : tables_[0].template at<0>(Vec::add_words(code, Vec::splat((1 << s) - 1)));
      code = Vec::add_if_less(code, threshold, y, 1 << s);
    }
    return code;
  }

 private:
  static constexpr bool kInRegisters = kBits <= Vec::kBitsInRegisters;
  static constexpr std::size_t kTables = kInRegisters ? kBits : 1;

  template <std::size_t... s>
  Halving(const float* thresholds, std::index_sequence<s...>)
      : tables_{Vec::FloatLookup<kBits>(thresholds + ((std::size_t{1} << s) - 1))...} {}

  Vec::FloatLookup<kBits> tables_[kTables];
};

/// Two look-ups in memory instead of one for each bit.
struct Buckets {
  const CodeSearch& search;
  explicit Buckets(const CodeSearch& of) : search(of) {}
  ORTHANT_INLINE Vec::Word code(Vec::Float y) const {
    const Vec::Float place = Vec::fma(y, Vec::splat_float(search.slope), Vec::splat_float(search.shift));
    const Vec::Float last = Vec::splat_float(static_cast<float>(CodeSearch::kBuckets - 1));
    const Vec::Word bucket = Vec::round(Vec::min(Vec::max(place, Vec::splat_float(0)), last));
    const Vec::Word below = Vec::gather_words(search.below.data(), bucket);
    const Vec::Float next = Vec::gather_floats(search.thresholds.data(), below);
    return Vec::add_if_less(below, next, y, 1);
  }
};

template <class Search>
void find_codes_by(const CodeSearch& search, const float* y, std::size_t n, float factor, std::uint8_t* codes) {
  const Search by(search);
  const Vec::Float scale = Vec::splat_float(factor);
  std::size_t j = 0;
  for (; j + Vec::kLanes <= n; j += Vec::kLanes) {
    Vec::store_bytes(reinterpret_cast<std::byte*>(codes + j), by.code(Vec::mul(Vec::load_float(y + j), scale)));
  }
  if (j == n) return;
  float rest[Vec::kLanes] = {};
  std::byte bytes[Vec::kLanes];
  std::copy(y + j, y + n, rest);
  Vec::store_bytes(bytes, by.code(Vec::mul(Vec::load_float(rest), scale)));
  std::memcpy(codes + j, bytes, n - j);
}

inline void find_codes(const CodeSearch& search, const float* y, std::size_t n, float factor, std::uint8_t* codes) {
  if (search.bits > Vec::kBitsInRegisters && !search.below.empty()) {
    return find_codes_by<Buckets>(search, y, n, factor, codes);
  }
  for_width<1, 8>(search.bits, []<int kBits>() { return find_codes_by<Halving<kBits>>; })(search, y, n, factor, codes);
}

/// kRows rows of products, kVectors vectors of their columns from `first` on.
template <std::size_t kRows, std::size_t kVectors>
ORTHANT_INLINE void multiply_block(const PanelMatrix& m, const float* x, std::size_t x_stride, std::size_t first,
                                   float (*y)[kVectors * Vec::kLanes]) {
  constexpr std::size_t kPanel = PanelMatrix::kColumns;
  Vec::Float sums[kRows][kVectors];
  ORTHANT_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Vec::splat_float(0);
  }
  const float* row = m.data + PanelMatrix::place(m.dim, 0, first);
  const float* next_panel = row + m.dim * kPanel;
  for (std::size_t i = 0; i < m.dim; ++i, row += kPanel, next_panel += kPanel) {
    Vec::Float entries[kVectors];
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t column = v * Vec::kLanes;
      entries[v] = Vec::load_float(column < kPanel ? row + column : next_panel + (column - kPanel));
    }
    ORTHANT_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec::Float factor = Vec::splat_float(x[r * x_stride + i]);
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Vec::fma(factor, entries[v], sums[r][v]);
    }
  }
  ORTHANT_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    ORTHANT_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) Vec::store_float(y[r] + v * Vec::kLanes, sums[r][v]);
  }
}

/// Columns that kRows rows take at once: as many sums as the registers hold.
template <std::size_t kRows>
inline constexpr std::size_t kColumnVectors = (Vec::kRegisters >= 32 ? 4 : 2) * (kRows == 1 ? 2 : 1);

template <std::size_t kRows>
void multiply_some(const PanelMatrix& m, const float* x, std::size_t x_stride, std::size_t first, float* y,
                   std::size_t y_stride) {
  constexpr std::size_t kColumns = kColumnVectors<kRows> * Vec::kLanes;
  alignas(64) float block[kRows][kColumns];
  multiply_block<kRows, kColumnVectors<kRows>>(m, x, x_stride, first, block);
  const std::size_t count = std::min(kColumns, m.dim - first);
  for (std::size_t r = 0; r < kRows; ++r) std::copy_n(block[r], count, y + r * y_stride + first);
}

/// Sums in the order of the matrix's rows, whatever the number of rows of x: the same bits for each of them alone.
inline void multiply_rows(const PanelMatrix& m, const float* x, std::size_t x_stride, std::size_t n, float* y,
                          std::size_t y_stride) {
  constexpr std::size_t kTogether = Vec::kRegisters >= 32 ? 6 : 4;
  const std::size_t several = n - n % 2;
  for (std::size_t first = 0; first < m.dim; first += kColumnVectors<2> * Vec::kLanes) {
    std::size_t i = 0;
    for (; i + kTogether <= several; i += kTogether) {
      multiply_some<kTogether>(m, x + i * x_stride, x_stride, first, y + i * y_stride, y_stride);
    }
    for (; i < several; i += 2) multiply_some<2>(m, x + i * x_stride, x_stride, first, y + i * y_stride, y_stride);
  }
  if (several == n) return;
  for (std::size_t first = 0; first < m.dim; first += kColumnVectors<1> * Vec::kLanes) {
    multiply_some<1>(m, x + several * x_stride, x_stride, first, y + several * y_stride, y_stride);
  }
}

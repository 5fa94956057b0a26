#include "orthant/validation/league.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "orthant/bounds/converse.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/core/workspace.h"
#include "orthant/validation/test_vectors.h"

namespace orthant::validation {
namespace {

enum : std::size_t { kDistortion, kSlope, kVariance, kTail, kRecall1, kRecall10, kEncode, kNumbers };

constexpr double kCosine = 0.7;

struct Data {
  Matrix<float> keys;
  Matrix<float> queries;
  Matrix<double> products;           // (queries, keys)
  std::vector<std::size_t> nearest;  // of each query
};

/// Vectors one after the other: different rows of the user's tensor as long as there are any, uniform ones otherwise.
class VectorSource {
 public:
  explicit VectorSource(const LeagueOptions& options) : vectors_(options.vectors) {
    if (vectors_ != nullptr) order_.resize(vectors_->rows());
    std::iota(order_.begin(), order_.end(), 0U);
  }

  void next(RngStream& rng, std::span<float> x) {
    if (taken_ == order_.size()) {
      rng.fill_unit_vector(x);
      return;
    }
    // A step of a shuffle (Fisher & Yates 1938).
    std::swap(order_[taken_], order_[taken_ + static_cast<std::size_t>(rng.below(order_.size() - taken_))]);
    std::ranges::copy(vectors_->row(order_[taken_++]), x.begin());
  }

 private:
  std::shared_ptr<const Matrix<float>> vectors_;
  std::vector<std::size_t> order_;
  std::size_t taken_ = 0;
};

/// Queries of odd number are near no key on purpose: their nearest key is told from the others by little.
bool hard(std::size_t query) { return query % 2 == 1; }

Data data_of(const LeagueOptions& options, std::size_t repetition) {
  Data data{Matrix<float>(options.keys, options.dim), Matrix<float>(options.queries, options.dim),
            Matrix<double>(options.queries, options.keys), std::vector<std::size_t>(options.queries)};
  RngStream rng(options.seed, claim_domain("league"), repetition);
  VectorSource source(options);
  for (std::size_t i = 0; i < options.keys; ++i) source.next(rng, data.keys.row(i));
  for (std::size_t i = 0; i < options.queries; ++i) {
    if (hard(i)) {
      source.next(rng, data.queries.row(i));
    } else {
      correlated_query(data.keys.row(i % options.keys), kCosine, rng, data.queries.row(i));
    }
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < options.keys; ++j) {
      data.products(i, j) = dot(data.queries.row(i), data.keys.row(j));
      if (data.products(i, j) > best) {
        best = data.products(i, j);
        data.nearest[i] = j;
      }
    }
  }
  return data;
}

void measure(const quantizer::VectorQuantizer& quantizer, const Data& data, std::span<double> out) {
  const std::size_t n = data.keys.rows();
  const double d = static_cast<double>(data.keys.cols());
  Workspace work(std::max(quantizer.workspace_bytes(n), quantizer.workspace_bytes(1)));
  Matrix<std::uint8_t> packed(n, quantizer.bytes_per_vector());
  const auto start = std::chrono::steady_clock::now();
  quantizer.encode(data.keys.view(), packed.view(), work);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  out[kEncode] = took.count() / static_cast<double>(n);

  Matrix<float> decoded(n, data.keys.cols());
  quantizer.decode(packed.view(), decoded.view(), work);
  double error = 0;
  for (std::size_t i = 0; i < n; ++i) error += squared_distance(data.keys.row(i), decoded.row(i));
  out[kDistortion] = error / static_cast<double>(n);

  double cross = 0;
  double square = 0;
  std::size_t first = 0;
  std::size_t in_ten = 0;
  std::size_t hard_queries = 0;
  Matrix<float> estimates(data.queries.rows(), n);
  std::vector<double> errors;
  errors.reserve(data.queries.rows() * n);
  for (std::size_t i = 0; i < data.queries.rows(); ++i) {
    quantizer.estimate(data.queries.row(i), packed.view(), estimates.row(i), work);
    const float own = estimates(i, data.nearest[i]);
    std::size_t better = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double truth = data.products(i, j);
      const double estimate = static_cast<double>(estimates(i, j));
      cross += truth * estimate;
      square += truth * truth;
      errors.push_back(std::sqrt(d) * std::abs(estimate - truth));
      // A tie goes to the lower index.
      if (estimates(i, j) > own || (estimates(i, j) == own && j < data.nearest[i])) ++better;
    }
    if (!hard(i)) continue;
    ++hard_queries;
    first += better < 1 ? 1U : 0U;
    in_ten += better < 10 ? 1U : 0U;
  }
  const double slope = cross / square;
  double rest = 0;
  for (std::size_t i = 0; i < data.queries.rows(); ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double off = static_cast<double>(estimates(i, j)) - slope * data.products(i, j);
      rest += off * off;
    }
  }
  const std::size_t rank = errors.size() * 999 / 1000;
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(rank), errors.end());
  out[kSlope] = slope;
  out[kVariance] = d * rest / static_cast<double>(errors.size());
  out[kTail] = errors[rank];
  out[kRecall1] = static_cast<double>(first) / static_cast<double>(hard_queries);
  out[kRecall10] = static_cast<double>(in_ten) / static_cast<double>(hard_queries);
}

Spread spread(const std::vector<double>& results, std::size_t number) {
  Moments m;
  for (std::size_t r = 0; r * kNumbers < results.size(); ++r) m.add(results[r * kNumbers + number]);
  return {m.mean(), m.standard_deviation()};
}

}  // namespace

std::vector<std::string> league_methods(std::size_t dim, int bits) {
  const std::string b = ':' + std::to_string(bits);
  std::vector<std::string> methods = {"turbo-mse" + b,
                                      "turbo-prod" + b,
                                      "turbo-prod" + b + ",sketch=orthogonal",
                                      "turbo-prod" + b + ",sketch=hadamard",
                                      "eden" + b,
                                      "eden" + b + ",scale=mse",
                                      "rabitq" + b,
                                      "qjl:" + std::to_string(static_cast<std::size_t>(bits) * dim)};
  methods.push_back("uniform" + b + ",axis=token,group=" + std::to_string(dim) + ",rotation=haar");
  const auto add = [&](std::initializer_list<const char*> more) {
    for (const char* name : more) methods.push_back(std::string(name) + ",rotation=haar");
  };
  if (bits == 4) add({"polar:4", "q4_0", "iq4_nl", "mxfp4", "nvfp4,scale=token"});
  if (bits == 5) add({"q5_0"});
  if (bits == 8) add({"q8_0", "fp8:e4m3,scale=token"});
  return methods;
}

std::vector<LeagueRow> run_league(const LeagueOptions& options, montecarlo::Workers& workers,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  if (options.seeds == 0 || options.queries < 2 || options.keys < 10) {
    throw InvalidArgument("league: expected a seed, two queries and 10 keys at least");
  }
  if (options.vectors != nullptr) {
    require_size("league", "columns of the vectors", options.vectors->cols(), options.dim);
    if (options.vectors->rows() < options.keys) {
      throw_invalid_argument("league", "keys", std::to_string(options.keys),
                             "at most the " + std::to_string(options.vectors->rows()) + " vectors there are");
    }
  }
  struct Entrant {
    std::string method;
    int bits;
    std::size_t bytes;
  };
  std::vector<Entrant> entrants;
  for (const int b : options.bits) {
    for (const std::string& method : league_methods(options.dim, b)) {
      try {
        entrants.push_back({method, b, options.subject(method, options.dim, options.seed, 0)->bytes_per_vector()});
      } catch (const InvalidArgument&) {
        continue;  // a format that cannot take this dimension
      }
    }
  }
  std::vector<Data> data(options.seeds);
  for (std::size_t r = 0; r < options.seeds; ++r) data[r] = data_of(options, r);

  std::vector<LeagueRow> rows;
  for (const Entrant& entrant : entrants) {
    std::vector<double> results(options.seeds * kNumbers);
    workers.map(
        options.seeds, kNumbers,
        [&](std::size_t r, std::span<double> out) {
          measure(*options.subject(entrant.method, options.dim, options.seed, r), data[r], out);
        },
        results);
    LeagueRow row;
    row.method = entrant.method;
    row.nominal_bits = entrant.bits;
    row.true_bits = 8.0 * static_cast<double>(entrant.bytes) / static_cast<double>(options.dim);
    row.converse = bounds::cap_converse(static_cast<std::int64_t>(options.dim), row.true_bits);
    row.variance_floor = bounds::unbiased_floor(row.converse);
    row.distortion = spread(results, kDistortion);
    row.slope = spread(results, kSlope);
    row.variance = spread(results, kVariance);
    row.error_999 = spread(results, kTail);
    row.recall_1 = spread(results, kRecall1);
    row.recall_10 = spread(results, kRecall10);
    row.encode_ns = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < options.seeds; ++r) {
      row.encode_ns = std::min(row.encode_ns, results[r * kNumbers + kEncode]);
    }
    rows.push_back(row);
    if (progress && workers.root()) progress(rows.size(), entrants.size());
  }
  return rows;
}

}  // namespace orthant::validation

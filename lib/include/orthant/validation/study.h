#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "orthant/montecarlo/confidence.h"
#include "orthant/montecarlo/experiment.h"
#include "orthant/validation/verdict.h"

namespace orthant::validation {

/// Which edition of a statement a row judges. A printed statement and its correction are two claims.
enum class Form {
  kPrinted,    ///< as its source prints it
  kCorrected,  ///< what should have been printed
  kExact,      ///< an exact law, derived
  kMisprint,   ///< as articles about the source reprint it
};
std::string_view to_string(Form form);

/// One row of `orthant verify`: a statement about one or several channels of its study.
struct Claim {
  std::string id;         ///< "mse.theorem1.b2": group, statement, case
  std::string statement;  ///< one line, formula included
  std::string source;
  std::string valid_for;  ///< where the statement is meant to hold
  Form form = Form::kExact;
  Relation relation = Relation::kEquals;
  double target = 0;
  double margin = 0;                  ///< of kEquals: the tolerance of indifference
  std::optional<double> exact;        ///< what theory says the quantity is
  std::vector<std::size_t> channels;  ///< the statement is made of each of them
};

/// How the mean of a channel is enclosed.
struct Channel {
  enum class Kind {
    kBounded,     ///< empirical Bernstein on [lower, upper]
    kFrequency,   ///< zeros and ones
    kAsymptotic,  ///< finite variance, no range
    kFact,        ///< not random: `value`
  };
  std::string name;
  Kind kind = Kind::kAsymptotic;
  double centre = 0;  ///< guess of the mean
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();
  montecarlo::Plan plan{};
  double value = 0;     ///< of a fact
  double rounding = 0;  ///< what float arithmetic may add to the mean: the interval is wider by that on either side
};

/// Claims that are settled by the same trials (or, when every channel is a fact, by none).
struct Study {
  montecarlo::Experiment experiment;
  std::vector<Channel> channels;
  std::vector<Claim> claims;
};

}  // namespace orthant::validation

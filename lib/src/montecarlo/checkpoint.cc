#include "orthant/montecarlo/checkpoint.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_errors.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/input_file.h"

namespace orthant::montecarlo {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "orthant-checkpoint-1";
constexpr std::size_t kLargestFile = std::size_t{1} << 30;  // chosen: a run has a few kilobytes a study

// JSON has no infinities; an empty sample has some.
json to_value(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

double from_value(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw json::other_error::create(501, "got " + text + ", expected a number, inf, -inf or nan", &value);
}

json to_values(const Moments& m) {
  return json::array(
      {m.count(), to_value(m.mean()), to_value(m.sum_of_squares()), to_value(m.min()), to_value(m.max())});
}

Moments moments_from(const json& value) {
  if (value.size() != 5) {
    throw json::other_error::create(501, std::to_string(value.size()) + " moments, expected 5", &value);
  }
  return {value[0].get<std::uint64_t>(), from_value(value[1]), from_value(value[2]), from_value(value[3]),
          from_value(value[4])};
}

}  // namespace

std::string to_json(const Checkpoint& checkpoint) {
  json experiments = json::object();
  for (const auto& [name, progress] : checkpoint.experiments) {
    json channels = json::array();
    for (const Moments& m : progress.channels) channels.push_back(to_values(m));
    json sequences = json::array();
    for (const std::vector<double>& state : progress.sequences) {
      json values = json::array();
      for (const double x : state) values.push_back(to_value(x));
      sequences.push_back(std::move(values));
    }
    experiments[name] = {{"blocks", progress.blocks}, {"channels", channels}, {"sequences", sequences}};
  }
  return json{{"format", kFormat}, {"key", checkpoint.key}, {"experiments", experiments}}.dump() + "\n";
}

Checkpoint parse_checkpoint(const std::string& text, const std::string& key, const std::string& name) {
  Checkpoint checkpoint;
  checkpoint.key = key;
  if (text.empty()) throw_invalid_input(name, "content", "an empty file", "a checkpoint, or no file at all");
  try {
    const json root = json::parse(text);
    if (root.at("format").get<std::string>() != kFormat) {
      throw_invalid_input(name, "format", root.at("format").dump(), kFormat);
    }
    if (root.at("key").get<std::string>() != key) {
      throw_invalid_input(name, "checkpoint of another run", root.at("key").get<std::string>(), key);
    }
    for (const auto& [study, value] : root.at("experiments").items()) {
      Progress progress;
      if (!value.at("blocks").is_number_unsigned()) {
        throw_invalid_input(name, "blocks", value.at("blocks").dump(), "a whole number");
      }
      progress.blocks = value.at("blocks").get<std::uint64_t>();
      for (const json& m : value.at("channels")) progress.channels.push_back(moments_from(m));
      for (const json& state : value.at("sequences")) {
        std::vector<double> values;
        for (const json& x : state) values.push_back(from_value(x));
        progress.sequences.push_back(std::move(values));
      }
      checkpoint.experiments.emplace(study, std::move(progress));
    }
  } catch (const json::exception& error) {
    throw_invalid_input(name, "text", json_reason(error.what()), kFormat);
  }
  return checkpoint;
}

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  write_file(path, to_json(checkpoint));
}

Checkpoint read_checkpoint(const std::filesystem::path& path, const std::string& key) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {key, {}};
  return parse_checkpoint(read_file(path, kLargestFile), key, path.string());
}

}  // namespace orthant::montecarlo

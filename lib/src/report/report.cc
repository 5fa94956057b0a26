#include "orthant/report/report.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "orthant/core/error.h"
#include "orthant/core/input_file.h"
#include "orthant/core/version.h"

namespace orthant::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "orthant-report-1";

Json to_json(const Value& value) {
  return std::visit(
      [](const auto& x) {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::monostate>) {
          return Json(nullptr);
        } else {
          return Json(x);
        }
      },
      value);
}

Json rows_of(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows()) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns()[i].name] = to_json(row[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

Json columns_of(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns()) {
    columns.push_back({{"name", column.name}, {"type", to_string(column.type)}});
  }
  return columns;
}

}  // namespace

Input describe_input(const std::filesystem::path& path) {
  InputFile file(path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!digest || EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1) throw Error("SHA-256 is not available");
  Input input{path.string(), 0, ""};
  std::vector<char> block(std::size_t{1} << 16);
  while (const std::size_t got = file.read(block)) {
    input.bytes += got;
    if (EVP_DigestUpdate(digest.get(), block.data(), got) != 1) throw Error("SHA-256 failed");
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(digest.get(), hash.data(), &size) != 1) throw Error("SHA-256 failed");
  constexpr std::string_view kHex = "0123456789abcdef";
  for (unsigned i = 0; i < size; ++i) {
    input.sha256 += kHex[hash[i] >> 4];
    input.sha256 += kHex[hash[i] & 15U];
  }
  return input;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string to_json(const Provenance& provenance, const Table& rows,
                    const std::vector<std::pair<std::string, Table>>& further) {
  Json root = {{"schema", kSchema},           {"kind", provenance.kind},    {"command", provenance.command},
               {"seed", provenance.seed},     {"library", version()},       {"cpu", processor_name()},
               {"target", provenance.target}, {"settings", Json::object()}, {"inputs", Json::array()}};
  for (const auto& [name, value] : provenance.settings) root["settings"][name] = to_json(value);
  for (const Input& input : provenance.inputs) {
    root["inputs"].push_back({{"path", input.path}, {"bytes", input.bytes}, {"sha256", input.sha256}});
  }
  root["columns"] = columns_of(rows);
  root["rows"] = rows_of(rows);
  for (const auto& [name, table] : further) {
    if (root.contains(name)) throw_invalid_argument("to_json", "table name", name, "a new member");
    root[name] = rows_of(table);
  }
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace orthant::report

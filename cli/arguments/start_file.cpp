// Reads starting values from JSON.
#include "arguments/model_choice.hpp"
#include "errors.hpp"
#include "report/json_report.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace nlsq::cli {

namespace {

using Json = nlohmann::ordered_json;

double start_value(const std::string& path, const std::string& name, const Json& value) {
  if (!value.is_number())
    throw UsageError(fmt::format("--p0 @{}: {} has no number as its value", path, printable(name)));
  return value.get<double>();
}

}  // namespace

std::vector<std::pair<std::string, double>> read_start_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("--p0 @{}: cannot open the file", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    throw UsageError(fmt::format("--p0 @{}: not a JSON object as --json writes it", path));
  if (json.empty()) throw UsageError(fmt::format("--p0 @{}: the object has no values", path));
  std::vector<std::pair<std::string, double>> values;
  const auto parameters = json.find("parameters");
  if (parameters == json.end()) {
    for (const auto& [name, value] : json.items()) values.emplace_back(name, start_value(path, name, value));
    return values;
  }
  if (!parameters->is_array()) throw UsageError(fmt::format("--p0 @{}: \"parameters\" is not a list", path));
  for (const Json& entry : *parameters) {
    const bool named =
        entry.is_object() && entry.contains("name") && entry["name"].is_string() && entry.contains("value");
    if (!named) throw UsageError(fmt::format("--p0 @{}: a parameter without name and value", path));
    const auto name = entry["name"].get<std::string>();
    values.emplace_back(name, start_value(path, name, entry["value"]));
  }
  return values;
}

std::string json_library_version() {
  return fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
}

}  // namespace nlsq::cli

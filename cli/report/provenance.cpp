// Implements the provenance of a result.
#include "report/provenance.hpp"

#include <nlsq/version.hpp>

#include <nlohmann/json.hpp>

namespace nlsq::cli {

void add_provenance(nlohmann::ordered_json& json, const FitReport& report) {
  using Json = nlohmann::ordered_json;
  json["version"] = version();
  json["options"] = report.arguments.words;
  Json& files = json["files"] = Json::array();
  for (const InputFile& file : report.files)
    files.push_back({{"name", file.name}, {"rows", file.rows}, {"checksum", file.checksum}});
}

}  // namespace nlsq::cli

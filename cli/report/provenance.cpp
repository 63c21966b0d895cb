// Implements the provenance of a result.
#include "report/provenance.hpp"

#include <nlsq/version.hpp>

#include <nlohmann/json.hpp>

namespace nlsq::cli {

void add_provenance(nlohmann::ordered_json& json, const FitReport& report) {
  using Json = nlohmann::ordered_json;
  const std::size_t rows = report.data.rows() + report.data.excluded();
  json["version"] = version();
  json["options"] = report.arguments.words;
  json["files"] =
      Json::array({Json{{"name", report.arguments.file}, {"rows", rows}, {"checksum", report.checksum}}});
}

}  // namespace nlsq::cli

// Implements the provenance of a result.
#include "report/provenance.hpp"

#include <nlsq/version.hpp>

namespace nlsq::cli {

void add_provenance(JsonWriter& json, const FitReport& report) {
  json.members("version", version(), "options", report.arguments.words);
  json.list("files", report.files, [&](const InputFile& file) {
    json.object("name", file.name, "rows", file.rows, "checksum", file.checksum);
  });
}

}  // namespace nlsq::cli

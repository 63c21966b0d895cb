// --json of an image: how its pixels ended, the range of each parameter, and where the maps came from. The
// numbers of each pixel are in the maps.
#include "images/image_report.hpp"
#include "report/json_report.hpp"
#include "report/text_kinds.hpp"

#include <nlsq/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string>

namespace nlsq::cli {

namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

// Joins the items of a JSON list or object.
template <class Items, class Text>
std::string joined(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ",") + text(item);
  return out;
}

std::string statuses(const ImageReport& report) {
  std::string out;
  for (PixelStatus s = 0; s < kStatuses; ++s) {
    const std::size_t pixels = report.count(s);
    if (pixels == 0) continue;
    out += fmt::format("{}{{\"status\":\"{}\",\"in_map\":{},\"pixels\":{}}}", out.empty() ? "" : ",",
                       status_name(s), s, pixels);
  }
  return out;
}

std::string parameters(const ImageReport& report) {
  return joined(parameter_ranges(report), [](const ParameterRange& range) {
    return fmt::format("{{\"name\":{},\"median\":{},\"lowest\":{},\"highest\":{},\"median_std_error\":{}{}}}",
                       json_text(range.name), number(range.median), number(range.lowest),
                       number(range.highest), number(range.median_error),
                       range.at_bound ? fmt::format(",\"at_bound\":{}", *range.at_bound) : std::string());
  });
}

// Returns a list of the kinds of these texts of pixels.
std::string kinds(const ImageReport& report, const std::map<std::size_t, std::string>& texts) {
  return joined(text_kinds(texts), [&](const TextKind& kind) {
    return fmt::format("{{\"pixels\":{},\"first\":[{}],\"message\":{}}}", kind.count,
                       fmt::join(report.image.index(kind.first), ","), json_text(texts.at(kind.first)));
  });
}

}  // namespace

std::string image_json(const ImageReport& report) {
  const Arguments& arguments = report.arguments;
  const ImageFits& fits = report.fits;
  const ModelChoice& model = report.model;
  std::string out = fmt::format("{{\"shape\":[{}],\"points\":{},\"axis\":{},\"pixels\":{},\"fitted\":{},",
                                fmt::join(report.image.shape, ","), report.image.points, report.image.axis,
                                fits.status.size(), report.fitted());
  out += fmt::format("\"succeeded\":{},\"failed\":{},\"from_neighbour\":{},\"statuses\":[{}],",
                     report.fitted() - report.failed(), report.failed(),
                     std::ranges::count(fits.from_neighbour, 1), statuses(report));
  out += fmt::format("\"parameters\":[{}],\"reasons\":[{}],\"pixel_warnings\":[{}],", parameters(report),
                     kinds(report, fits.message), kinds(report, fits.warnings));
  out += fmt::format("\"model\":{},\"formula\":{},\"absolute_sigma\":{},\"warnings\":[{}],",
                     json_text(model.name_or(arguments.model)), json_text(model.formula.text),
                     arguments.absolute_sigma, joined(model.warnings, json_text));
  out += fmt::format("\"maps\":{},\"version\":{},\"options\":[{}],\"files\":[{}],",
                     json_text(arguments.image.maps), json_text(version()),
                     joined(arguments.words, json_text), joined(report.files, [](const InputFile& file) {
                       return fmt::format("{{\"name\":{},\"checksum\":{}}}", json_text(file.name),
                                          json_text(file.checksum));
                     }));
  return out +
         fmt::format("\"time\":{{\"read\":{},\"total\":{}}}}}\n", report.read_seconds, report.total_seconds);
}

}  // namespace nlsq::cli

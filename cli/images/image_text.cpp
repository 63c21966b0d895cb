// Writes the report about an image: how its pixels ended, and the range of each parameter.
#include "images/image_report.hpp"
#include "report/report.hpp"
#include "report/text_kinds.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostReasonsListed = 20;

double median(std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string data_text(const ImageReport& report) {
  const Image& image = report.image;
  std::string out = fmt::format("Data   {}: {}, {}\n", printable(image.source, 200),
                                shape_text(image.data->header().shape), image.data->describe());
  out += fmt::format("       {} points of a pixel along axis {}, {}\n", image.points, image.axis,
                     image.axis_reason);
  out += fmt::format("       x = {}", image.x_text);
  if (!image.sigma_text.empty()) out += ", sigma = " + image.sigma_text;
  if (!image.fitted.empty()) out += ", mask = " + printable(report.arguments.image.mask, 200);
  return out + "\n";
}

std::string status_table(const ImageReport& report) {
  std::vector<std::vector<std::string>> rows = {{"status", "in the map", "pixels"}};
  for (PixelStatus s = 0; s < kStatuses; ++s) {
    if (const std::size_t pixels = report.count(s))
      rows.push_back({status_name(s), std::to_string(s), std::to_string(pixels)});
  }
  return aligned_table(rows, "  ");
}

std::string parameter_table(const ImageReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"parameter", "median", "lowest", "highest", "median std. error"}};
  const bool bounded = !report.fits.at_bound.empty();
  if (bounded) rows[0].emplace_back("pixels on a bound");
  for (const ParameterRange& range : parameter_ranges(report)) {
    rows.push_back({range.name, significant(range.median), significant(range.lowest),
                    significant(range.highest), significant(range.median_error)});
    if (bounded) rows.back().push_back(range.at_bound ? std::to_string(*range.at_bound) : "no bounds");
  }
  return rows.size() == 1 ? "" : aligned_table(rows, "  ") + "\n";
}

// Returns a line for each reason why pixels did not succeed, with their number.
std::string failed_pixels(const ImageReport& report) {
  const std::vector<TextKind> reasons = text_kinds(report.fits.message);
  if (reasons.empty()) return "";
  std::string out = fmt::format("{} of {} pixels did not succeed:\n", report.failed(), report.fitted());
  for (std::size_t k = 0; k < std::min(reasons.size(), kMostReasonsListed); ++k) {
    const auto& [first, pixels] = reasons[k];
    out += fmt::format("  {} pixel{}, the first at {}: {}\n", pixels, pixels == 1 ? "" : "s",
                       report.image.place(first), report.fits.message.at(first));
  }
  if (reasons.size() > kMostReasonsListed)
    out += fmt::format("  and {} more reasons\n", reasons.size() - kMostReasonsListed);
  const bool ran_out = std::ranges::any_of(report.fits.message, [](const auto& entry) {
    return entry.second.starts_with("iteration limit reached");
  });
  if (ran_out) {
    out += fmt::format("  The iteration limit of a pixel is {}: --max-iterations gives them more.\n",
                       report.arguments.max_iterations.value_or(kPixelIterations));
  }
  return out;
}

}  // namespace

std::size_t ImageReport::count(PixelStatus status) const {
  return static_cast<std::size_t>(std::ranges::count(fits.status, status));
}

std::size_t ImageReport::failed() const {
  std::size_t pixels = 0;
  for (PixelStatus s = 1; s < kStatuses; ++s) pixels += is_success(s) ? 0 : count(s);
  return pixels;
}

std::vector<ParameterRange> parameter_ranges(const ImageReport& report) {
  const ImageFits& fits = report.fits;
  std::vector<ParameterRange> ranges;
  std::vector<double> values, errors;
  for (std::size_t j = 0; j < fits.parameter_names.size(); ++j) {
    values.clear(), errors.clear();
    for (std::size_t p = 0; p < fits.status.size(); ++p) {
      if (!is_success(fits.status[p])) continue;
      values.push_back(fits.parameters(p, j));
      if (!std::isnan(fits.standard_errors(p, j))) errors.push_back(fits.standard_errors(p, j));
    }
    if (values.empty()) return {};
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const double low = *lowest, high = *highest;  // median() moves the values
    ranges.push_back({fits.parameter_names[j], median(values), low, high, median(errors)});
    const auto bounded = fits.at_bound.find(fits.parameter_names[j]);
    if (bounded == fits.at_bound.end()) continue;
    std::size_t& pixels = ranges.back().at_bound.emplace(0);
    for (std::size_t p = 0; p < fits.status.size(); ++p)
      pixels += is_success(fits.status[p]) && bounded->second[p] != 0;
  }
  return ranges;
}

std::string image_text(const ImageReport& report) {
  const ImageFits& fits = report.fits;
  std::string out = data_text(report) + model_lines(report.model);
  out += fmt::format("Image  {} pixels, {} fitted, of which {} succeeded\n\n{}\n",
                     shape_text(report.image.shape), report.fitted(), report.fitted() - report.failed(),
                     status_table(report));
  out += parameter_table(report);
  if (report.failed() > 0) out += failed_pixels(report) + "\n";
  for (const std::string& warning : report.model.warnings) out += fmt::format("Warning: {}\n", warning);
  for (const auto& [first, pixels] : text_kinds(fits.warnings)) {
    out += fmt::format("Warning: {} pixel{}, the first at {}: {}\n", pixels, pixels == 1 ? "" : "s",
                       report.image.place(first), fits.warnings.at(first));
  }
  return out + fmt::format("Time   {:.3g} s (read {:.3g} s), {} pixels started from a neighbour's answer\n",
                           report.total_seconds, report.read_seconds,
                           std::ranges::count(fits.from_neighbour, 1));
}

}  // namespace nlsq::cli

// Implements the tables of derived quantities and of the bootstrap.
#include "report/html/html_results.hpp"

#include "report/html/html_table.hpp"
#include "report/html/html_text.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

namespace {

std::string estimate_row(const BootstrapEstimate& e) {
  return "<tr>" + element("th", e.name, " scope=\"row\"") +
         html_cell(format_estimate(e.estimate, e.standard_error)) +
         html_cell("± " + significant(e.standard_error, 3)) + html_cell(significant(e.bias, 3)) +
         html_cell(interval_text(e.ci_low, e.ci_high, e.standard_error)) + "</tr>\n";
}

}  // namespace

std::string html_derived_table(const FitReport& report) {
  const std::vector<DerivedQuantity>& derived = report.after.derived;
  if (derived.empty()) return "";
  std::string rows = html_header({"quantity", "value", "standard error",
                                  fmt::format("{:g} % interval", 100 * report.arguments.confidence)},
                                 "remark");
  for (const DerivedQuantity& d : derived) {
    rows += "<tr>" + element("th", d.name + " = " + d.expression, " scope=\"row\"") +
            html_cell(format_estimate(d.value, d.standard_error)) +
            html_cell("± " + significant(d.standard_error, 3)) +
            html_cell(interval_text(d.ci_low, d.ci_high, d.standard_error)) +
            element("td",
                    !d.note.empty() ? d.note
                    : d.by_profile  ? "by profile likelihood"
                                    : "",
                    " class=\"words\"") +
            "</tr>\n";
  }
  return html_table("numbers", rows);
}

std::string html_bootstrap_table(const FitReport& report) {
  if (!report.after.bootstrap) return "";
  const Bootstrap& b = *report.after.bootstrap;
  std::string rows = html_header({"quantity", "estimate", "standard error", "bias",
                                  fmt::format("{:g} % percentile interval", 100 * b.confidence)});
  for (const BootstrapEstimate& e : b.parameters) rows += estimate_row(e);
  for (const BootstrapEstimate& e : b.derived) rows += estimate_row(e);
  const std::string failures =
      b.failures == 0 ? "" : fmt::format(" {} of them ended without a minimum and are left out.", b.failures);
  return element("p", fmt::format("{} samples, method {}, seed {}.{}", b.samples, name(b.method), b.seed,
                                  failures)) +
         "\n" + html_table("numbers", rows);
}

}  // namespace nlsq::cli

// Assembles the HTML page from its tables, charts and sentences. It holds no times, so that the same fit
// makes the same page.
#include "report/html/html_report.hpp"

#include "report/html/certificate_text.hpp"
#include "report/html/charts.hpp"
#include "report/html/html_results.hpp"
#include "report/html/html_style.hpp"
#include "report/html/html_tables.hpp"
#include "report/html/html_text.hpp"

#include <nlsq/version.hpp>

#include <fmt/format.h>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostBesideAnother = 4;  // parameters whose correlations fit into half of the width

const std::string& title(const FitReport& report) { return report.model.name_or(report.model.formula.text); }

std::string head(const FitReport& report) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      escaped(shortened("Fit: " + title(report), 80)), kHtmlStyle);
}

std::string opening(const FitReport& report) {
  const FitResult& fit = report.fit;
  std::string out = element("h1", title(report)) + "\n";
  if (report.model.builtin != nullptr) {
    out += "<p><code>" + escaped(report.model.formula.text) + "</code><br/>";
    out += escaped(report.model.builtin->description) + "</p>\n";
  }
  for (const std::string& note : report.model.notes) out += element("p", note) + "\n";
  out += fmt::format("<p class=\"verdict {}\"><strong>{}</strong> {}</p>\n", fit.success() ? "good" : "bad",
                     name(fit.summary.verdict), escaped(verdict_sentence(fit.summary.verdict)));
  if (!fit.success()) out += element("p", fit.summary.message) + "\n";
  if (report.was_interrupted)
    out += "<p>The fit was interrupted; these are the best parameters so far.</p>\n";
  if (!report.warnings.empty()) {
    out += "<h2>Warnings</h2>\n<ul class=\"warnings\">\n";
    for (const std::string& warning : report.warnings) out += element("li", warning) + "\n";
    out += "</ul>\n";
  }
  return out;
}

std::string pictures(const PlotData& plot) {
  std::string out = "<h2>Data and fit</h2>\n<figure>\n" + fit_chart(plot) + residual_chart(plot);
  if (!plot.notes.empty()) {
    out += "<figcaption>";
    for (const std::string& note : plot.notes) out += escaped("(" + note + ") ");
    out += "</figcaption>\n";
  }
  return out + "</figure>\n";
}

// Returns a section. If `wide` is true, it takes the whole width. Otherwise it stands beside another one.
std::string section(const char* heading, const std::string& content, bool wide = false) {
  if (content.empty()) return "";
  return fmt::format("<section{}>\n<h2>{}</h2>\n{}</section>\n", wide ? " class=\"wide\"" : "", heading,
                     content);
}

std::string certificate(const FitReport& report) {
  std::string out = "<ul>\n";
  for (const std::string& sentence : certificate_sentences(report)) out += element("li", sentence) + "\n";
  return out + "</ul>\n";
}

std::string figure(const std::string& chart, const char* caption) {
  if (chart.empty()) return "";
  return "<figure>\n" + chart + element("figcaption", caption) + "\n</figure>\n";
}

}  // namespace

std::string html_report(const FitReport& report, const PlotData& plot) {
  std::string out = head(report) + "<body>\n<main>\n" + opening(report);
  out += section("Parameters", html_parameter_table(report));
  out += section("Derived quantities", html_derived_table(report));
  out += section("Bootstrap", html_bootstrap_table(report));
  out += pictures(plot);
  out += "<div class=\"pair\">\n";
  out += section("Statistics", html_statistics_table(report)) + section("Data", html_data_table(report));
  out += section("Correlations", html_correlation_table(report),
                 report.fit.parameters.size() > kMostBesideAnother);
  out += section("Are the residuals normal?",
                 plot.quantiles.normal.empty()
                     ? element("p", "There is no picture: " + plot.no_quantiles + ".") + "\n"
                     : figure(quantile_chart(plot),
                              "Normal residuals lie on the line. A bend at the ends shows "
                              "outliers; an S shows another distribution."));
  out += section("Course of the iteration",
                 figure(trace_chart(report),
                        "The cost per row at the start of each step, and the number format "
                        "in which rows were evaluated."));
  out += section("Certificate", certificate(report)) + "</div>\n";
  if (!report.fit.summary.iterations.empty())
    out +=
        "<details>\n<summary>Trace of all iterations</summary>\n" + html_trace_table(report) + "</details>\n";
  out += section("Command", "<pre>" + escaped(report.arguments.command) + "</pre>\n");
  out += fmt::format("<footer>nlsq-fit {}, {} kernels, {}</footer>\n", escaped(version()),
                     escaped(report.fit.summary.kernel), escaped(report.fit.summary.evaluator));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace nlsq::cli

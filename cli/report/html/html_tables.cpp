// Implements the tables of the HTML report.
#include "report/html/html_tables.hpp"

#include "report/html/html_table.hpp"
#include "report/html/html_text.hpp"
#include "report/report.hpp"
#include "report/statistics.hpp"

#include <nlsq/compare.hpp>

#include <nlsq/scheduler.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr std::size_t kLargestMatrix = 16;  // parameters
constexpr std::size_t kMostTraceLines = 300;

// Returns the cells of the error and the interval of parameter j.
std::string error_cells(const FitReport& report, std::size_t j) {
  const FitResult& fit = report.fit;
  const double error = fit.standard_errors[j];
  if (fit.fixed[j]) return html_cell("fixed") + html_cell("");
  if (fit.at_bound[j]) return html_cell("at bound") + html_cell("");
  if (std::isnan(error)) return html_cell(missing_error(fit)) + html_cell("");
  const auto [low, high] = report.interval(j);
  return html_cell("± " + significant(error, 3)) + html_cell(interval_text(low, high, error));
}

const char* sigma_sentence(const FitReport& report) {
  if (report.fit.loss.is_counts()) return "of counts: the root of the model";
  if (report.data.sigma.empty()) return "none given; standard errors are from the scatter of the fit";
  if (report.arguments.absolute_sigma) return "absolute; standard errors are those of the sigmas given";
  return "relative weights; standard errors are scaled by the scatter of the fit";
}

std::string loss_text(const FitResult& fit) {
  if (!fit.loss.is_robust()) return fit.loss.name();
  return fmt::format("{} with the scale {:g}; {} of {} residuals are beyond it", fit.loss.name(),
                     fit.loss.scale(), fit.beyond, fit.rows);
}

using Correlation = std::tuple<double, std::size_t, std::size_t>;

std::string largest_correlations(const FitResult& fit, const std::vector<std::size_t>& free) {
  std::vector<Correlation> pairs;
  for (std::size_t a = 0; a < free.size(); ++a) {
    for (std::size_t b = a + 1; b < free.size(); ++b) {
      const double value = fit.correlation(free[a], free[b]);
      if (std::isfinite(value)) pairs.emplace_back(value, free[a], free[b]);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Correlation& a, const Correlation& b) {
    return std::fabs(std::get<0>(a)) > std::fabs(std::get<0>(b));
  });
  pairs.resize(std::min(pairs.size(), 2 * kLargestMatrix));
  std::string rows = html_header({"pair", "correlation"});
  for (const auto& [value, i, j] : pairs)
    rows +=
        html_named_row(fit.parameter_names[i] + ", " + fit.parameter_names[j], fmt::format("{:.3f}", value));
  return html_table("numbers", rows);
}

std::string matrix_cell(double value, bool diagonal) {
  if (diagonal) return "<td class=\"diagonal\">1</td>";
  if (!std::isfinite(value)) return html_cell("undefined");
  // The background shows the size; the sign decides the hue.
  if (std::fabs(value) < 0.0005) value = 0;  // no "-0.000"
  return element("td", fmt::format("{:.3f}", value),
                 fmt::format(" class=\"{}\" style=\"--size:{:.0f}%\"", value < 0 ? "minus" : "plus",
                             60 * value * value));
}

}  // namespace

std::string html_data_table(const FitReport& report) {
  const FitData& data = report.data;
  std::string rows = html_named_row("file", data.source) + html_named_row("content", data.description);
  for (std::size_t k = 0; k < data.x.size(); ++k) {
    rows += html_named_row(data.x.size() == 1 ? "x" : fmt::format("x{}", k + 1), data.title(data.x[k]));
  }
  rows += html_named_row("y", data.title(data.y_expression));
  if (data.sigma_expression) rows += html_named_row("sigma", data.title(*data.sigma_expression));
  rows += html_named_row("rows fitted", fmt::format("{}", data.rows()));
  const auto left_out = [&](const char* why, std::size_t count) {
    if (count > 0) rows += html_named_row(fmt::format("left out by {}", why), fmt::format("{}", count));
  };
  left_out("--missing drop", data.dropped_missing);
  left_out("--where", data.excluded_where);
  left_out("--range", data.excluded_range);
  return html_table("facts", rows);
}

std::string html_parameter_table(const FitReport& report) {
  const FitResult& fit = report.fit;
  const Model* const builtin = report.model.builtin;
  const std::string interval =
      fmt::format("{:g} % {}interval", 100 * report.arguments.confidence, report.intervals ? "profile " : "");
  std::string rows = builtin != nullptr
                         ? html_header({"parameter", "value", "standard error", interval}, "meaning")
                         : html_header({"parameter", "value", "standard error", interval, "first guess"});
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    std::string name = fit.parameter_names[j];
    if (!fit.ties[j].empty()) name += " = " + fit.ties[j];
    rows += "<tr>" + element("th", name, " scope=\"row\"");
    rows += html_cell(format_estimate(fit.parameters[j], fit.fixed[j] ? 0 : fit.standard_errors[j]));
    rows += error_cells(report, j);
    if (builtin == nullptr) rows += html_cell(significant(fit.guess[j]));
    else rows += element("td", j < builtin->meaning.size() ? builtin->meaning[j] : "", " class=\"words\"");
    rows += "</tr>\n";
  }
  return html_table("numbers", rows);
}

std::string html_statistics_table(const FitReport& report) {
  const FitResult& fit = report.fit;
  const bool counts = fit.loss.is_counts();
  std::string rows = html_named_row("degrees of freedom", fmt::format("{}", fit.dof));
  rows += html_named_row("cost", significant(fit.summary.final_cost, 8));
  if (!fit.loss.is_linear()) rows += html_named_row("loss", loss_text(fit));
  rows += html_named_row(counts ? "deviance" : "sum of squares", significant(fit.rss, 8));
  rows += html_named_row(counts ? "reduced deviance" : "reduced χ²", significant(fit.chi2_reduced));
  if (const std::optional<double> p = p_value(fit, report.arguments.absolute_sigma))
    rows += html_named_row("p-value", significant(*p, 3));
  rows += html_named_row("R²", significant(fit.r_squared)) + html_named_row("AIC", significant(fit.aic));
  rows += html_named_row("BIC", significant(fit.bic)) + html_named_row("sigma", sigma_sentence(report));
  return html_table("facts", rows);
}

std::string html_correlation_table(const FitReport& report) {
  const FitResult& fit = report.fit;
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (!fit.fixed[j] && !fit.at_bound[j]) free.push_back(j);
  }
  if (free.size() < 2) return "<p>There is no pair of free parameters.</p>\n";
  if (free.size() > kLargestMatrix) return largest_correlations(fit, free);
  std::string rows = "<tr><td></td>";
  for (const std::size_t j : free) rows += element("th", fit.parameter_names[j], " scope=\"col\"");
  rows += "</tr>\n";
  for (const std::size_t i : free) {
    rows += "<tr>" + element("th", fit.parameter_names[i], " scope=\"row\"");
    for (const std::size_t j : free) rows += matrix_cell(fit.correlation(i, j), i == j);
    rows += "</tr>\n";
  }
  return html_table("numbers matrix", rows);
}

std::string html_trace_table(const FitReport& report) {
  const std::vector<IterationSummary>& trace = report.fit.summary.iterations;
  std::string rows =
      html_header({"iteration", "rows", "formats", "cost", "ν/σ", "λ", "outcome", "event"}, "why");
  for (std::size_t i = 0; i < std::min(trace.size(), kMostTraceLines); ++i) {
    const IterationSummary& line = trace[i];
    rows += "<tr>" + html_cell(fmt::format("{}", line.iteration)) + html_cell(fmt::format("{}", line.rows)) +
            html_cell(short_name(line.plan)) + html_cell(significant(line.cost, 8)) +
            html_cell(significant(line.decrement_sigma, 2)) + html_cell(significant(line.lambda, 2)) +
            html_cell(name(line.outcome)) + html_cell(line.event == Event::none ? "" : name(line.event)) +
            element("td", line.reason, " class=\"words\"") + "</tr>\n";
  }
  std::string out = html_table("numbers", rows);
  if (trace.size() > kMostTraceLines) {
    out +=
        fmt::format("<p>The first {} of {} lines; --trace prints all.</p>\n", kMostTraceLines, trace.size());
  }
  return out;
}

}  // namespace nlsq::cli

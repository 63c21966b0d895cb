// Formats the text report of nlsq-fit.
#include "report/report.hpp"

#include "certify/certify_text.hpp"
#include "compare/compare_report.hpp"
#include "prediction/prediction_text.hpp"
#include "report/statistics.hpp"

#include <nlsq/compare.hpp>
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr double kNotableCorrelation = 0.9;
constexpr std::size_t kMostCorrelations = 10;

std::string seconds(double s) {
  if (s < 1e-3) return fmt::format("{:.0f} µs", s * 1e6);
  if (s < 1) return fmt::format("{:.1f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

}  // namespace

std::string data_lines(const FitData& data) {
  std::string out = fmt::format("Data   {}: {}\n", printable(data.source, 200), data.description);
  std::string chosen;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    chosen += fmt::format("{}{} = {}", i == 0 ? "" : ", ",
                          data.x.size() == 1 ? "x" : fmt::format("x{}", i + 1), data.title(data.x[i]));
  }
  chosen += ", y = " + data.title(data.y_expression);
  for (const ColumnExpression& y : data.more_y_expressions) chosen += fmt::format(" and {}", data.title(y));
  if (data.sigma_expression) chosen += ", sigma = " + data.title(*data.sigma_expression);
  for (std::size_t i = 0; i < data.sigma_x_expressions.size(); ++i) {
    const auto& expression = data.sigma_x_expressions[i];
    const std::string x = data.x.size() == 1 ? "x" : fmt::format("x{}", i + 1);
    if (expression) chosen += fmt::format(", sigma of {} = {}", x, data.title(*expression));
  }
  if (data.group_expression) chosen += ", groups by " + data.title(*data.group_expression);
  out += fmt::format("       {}\n", chosen);
  if (const std::uint64_t bytes = bytes_in_scratch(); bytes > 0) {
    out += fmt::format("       {:.0f} MB of columns are in scratch files in {}\n",
                       static_cast<double>(bytes) / 1e6, printable(scratch_folder(), 200));
  }
  if (data.missing_y > 0) {
    out += fmt::format("       {} missing value{} of y left out, each from its own group alone\n",
                       data.missing_y, data.missing_y == 1 ? "" : "s");
  }
  if (data.excluded() == 0) return out;
  std::string reasons;
  const auto add = [&](std::size_t count, const char* why) {
    if (count > 0) reasons += fmt::format("{}{} by {}", reasons.empty() ? "" : ", ", count, why);
  };
  add(data.dropped_missing, "--missing drop");
  add(data.excluded_where, "--where");
  add(data.excluded_range, "--range");
  const std::size_t rows = data.more_y.empty() ? data.rows() : data.rows_before_stack;
  return out + fmt::format("       {} rows fitted, {} left out ({})\n", rows, data.excluded(), reasons);
}

std::string model_lines(const ModelChoice& model) {
  std::string out = "Model  ";
  if (model.builtin != nullptr) out += model.builtin->name + ": ";
  out += printable(model.formula.text, 300);
  for (std::size_t i = 0; i < model.notes.size(); ++i) out += (i == 0 ? "   (" : ", ") + model.notes[i];
  return out + (model.notes.empty() ? "\n" : ")\n");
}

const char* missing_error(const FitResult& fit) {
  return fit.summary.certificate.confounded.empty() ? "undefined" : "undetermined";
}

namespace {

std::string parameter_table(const FitReport& report) {
  const FitResult& fit = report.fit;
  const double factor = report.interval_factor();
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"parameter", "value", "", "std. error",
                  fmt::format("{:g} % {}interval", 100 * report.arguments.confidence,
                              report.intervals ? "profile " : "")});
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double value = fit.parameters[j], error = fit.standard_errors[j];
    if (!fit.ties[j].empty()) {
      const std::string name = fmt::format("{} = {}", fit.parameter_names[j], printable(fit.ties[j], 40));
      rows.push_back({name, format_estimate(value, error), "±", significant(error, 3),
                      fmt::format("[{}, {}]", format_estimate(value - factor * error, error),
                                  format_estimate(value + factor * error, error))});
    } else if (fit.fixed[j]) {
      rows.push_back({fit.parameter_names[j], format_estimate(value, 0), "", "fixed", ""});
    } else if (fit.at_bound[j]) {
      rows.push_back({fit.parameter_names[j], format_estimate(value, 0), "", "at bound", ""});
    } else if (std::isnan(error)) {
      rows.push_back({fit.parameter_names[j], format_estimate(value, error), "±", missing_error(fit), ""});
    } else {
      const auto [low, high] = report.interval(j);
      rows.push_back({fit.parameter_names[j], format_estimate(value, error), "±", significant(error, 3),
                      interval_text(low, high, error)});
    }
  }
  return aligned_table(rows, "  ");
}

std::string cost_title(const FitReport& report) {
  const Loss& loss = report.fit.loss;
  const char* weighted = report.data.sigma.empty() ? "" : "weighted ";
  if (loss.is_counts()) return "half the deviance of counts";
  return fmt::format("half the sum of {}{}", weighted,
                     loss.is_linear() ? "squares" : fmt::format("residuals' {} loss", loss.name()));
}

std::string quality_lines(const FitReport& report) {
  const FitResult& fit = report.fit;
  std::string out = fmt::format("Rows {}, degrees of freedom {}\n", fit.rows, fit.dof);
  const bool failed = fit.summary.termination == Termination::failure;  // the cost was not computed
  out += fmt::format("Cost {} ({}), R² {}\n", failed ? "undefined" : significant(fit.summary.final_cost, 8),
                     cost_title(report), significant(fit.r_squared));
  out +=
      fmt::format("Reduced {} {}", fit.loss.is_counts() ? "deviance" : "χ²", significant(fit.chi2_reduced));
  if (const std::optional<double> p = p_value(fit, report.arguments.absolute_sigma))
    out += fmt::format(", p-value {}", significant(*p, 3));
  out += fmt::format(", AIC {}, BIC {}\n", significant(fit.aic), significant(fit.bic));
  if (fit.loss.is_counts()) {
    out += "Sigma: of counts, the root of the model; standard errors are from the Fisher information\n";
  } else if (fit.loss.is_robust()) {
    out += fmt::format(
        "Loss: {} of {} residuals are beyond the scale {:g}; standard errors are an M-estimator's{}\n",
        fit.beyond, fit.rows, fit.loss.scale(),
        report.arguments.absolute_sigma ? ", for normal errors of the sigmas given"
                                        : ", from the scatter of the fit");
  } else if (report.arguments.absolute_sigma) {
    out += "Sigma: absolute; standard errors are those of the sigmas given\n";
  } else if (!report.data.sigma.empty()) {
    out += "Sigma: relative weights; standard errors are scaled by the scatter of the fit\n";
  } else {
    out += "Sigma: none given; standard errors are from the scatter of the fit\n";
  }
  return out;
}

std::string correlation_lines(const FitResult& fit) {
  struct Pair {
    double value;
    std::size_t i, j;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    for (std::size_t j = i + 1; j < fit.parameters.size(); ++j) {
      if (fit.fixed[i] || fit.fixed[j]) continue;
      const double value = fit.correlation(i, j);
      if (std::fabs(value) > kNotableCorrelation) pairs.push_back({value, i, j});
    }
  }
  if (pairs.empty()) return "";
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return std::fabs(a.value) > std::fabs(b.value); });
  std::string out = "Correlations above 0.9:";
  for (std::size_t k = 0; k < std::min(pairs.size(), kMostCorrelations); ++k) {
    out += fmt::format("{} {}~{} {:.4f}", k == 0 ? "" : ",", fit.parameter_names[pairs[k].i],
                       fit.parameter_names[pairs[k].j], pairs[k].value);
  }
  if (pairs.size() > kMostCorrelations) out += fmt::format(" and {} more", pairs.size() - kMostCorrelations);
  return out + "\n";
}

// Returns "f32×7 → f64×2": the formats of the row evaluations by iteration. "f32 sample" stands for passes
// over a part of the rows.
std::string format_history(const Summary& summary, std::size_t rows) {
  std::string out, current;
  int count = 0;
  const auto finish = [&] {
    if (count > 0) out += fmt::format("{}{}×{}", out.empty() ? "" : " → ", current, count);
  };
  for (const IterationSummary& iteration : summary.iterations) {
    std::string format = short_name(iteration.plan);
    if (iteration.rows < rows) format += " sample";
    if (format != current) finish(), current = format, count = 0;
    ++count;
  }
  finish();
  return out.empty() ? "f64, no step needed" : out;
}

// Lists the parameters that variable projection eliminated.
std::string eliminated(const FitResult& fit) {
  std::vector<std::string> linear;
  for (std::size_t j = 0; j < fit.eliminated.size(); ++j) {
    if (fit.eliminated[j]) linear.push_back(fit.parameter_names[j]);
  }
  return linear.empty() ? "" : fmt::format(" with {} eliminated", fmt::join(linear, ", "));
}

std::string precision_line(const FitReport& report) {
  const Summary& summary = report.fit.summary;
  const Certificate& certificate = summary.certificate;
  std::string out = fmt::format("Precision  {}{}, {}", format_history(summary, report.fit.rows),
                                eliminated(report.fit), certificate.passed ? "certified" : "not certified");
  if (!certificate.governed_by.empty())
    out += fmt::format("{} {}", certificate.passed ? " by" : ":", certificate.governed_by);
  const double distance = certificate.decrement_sigma;
  out += fmt::format(", κ = {:.1e}, distance to the optimum {}\n", certificate.condition,
                     std::isfinite(distance) ? fmt::format("{:.1e} standard errors", distance)
                                             : "unknown: nothing scatters");
  return out + fmt::format("Time   {} (read {}, fit {}), {} kernels, {}\n", seconds(report.total_seconds),
                           seconds(report.read_seconds), seconds(summary.time.total), summary.kernel,
                           summary.evaluator);
}

// Returns the first minima found with --starts.
std::string minima_lines(const FitResult& fit) {
  constexpr std::size_t kMost = 8;
  if (fit.minima.empty()) return "";
  int starts = 0;
  for (const FitMinimum& m : fit.minima) starts += m.starts;
  std::string out =
      fmt::format("Starts {}, of which {} ended here; {} other minim{}\n", starts, fit.minima.front().starts,
                  fit.minima.size() - 1, fit.minima.size() == 2 ? "um" : "a");
  for (std::size_t k = 1; k < std::min(fit.minima.size(), kMost); ++k) {
    const FitMinimum& m = fit.minima[k];
    out += fmt::format("       cost {} ({}, {} start{}):", significant(m.cost, 8), name(m.verdict), m.starts,
                       m.starts == 1 ? "" : "s");
    for (std::size_t j = 0; j < m.parameters.size(); ++j)
      out += fmt::format(" {}={}", fit.parameter_names[j], significant(m.parameters[j]));
    out += '\n';
  }
  if (fit.minima.size() > kMost)
    out += fmt::format("       and {} more (--json lists all)\n", fit.minima.size() - kMost);
  return out;
}

// Returns the policy that --optimize chose, and the option that repeats the fit without measuring.
std::string optimize_lines(const OptimizedPolicy& chosen) {
  return fmt::format("Optimize   {}\n           the same fit again: --precision '{}'\n", chosen.message,
                     chosen.text);
}

// Removes "converged: " from the start of the solver's message, because the verdict already states it.
std::string result_line(const Summary& summary) {
  std::string_view message = summary.message;
  const std::string prefix = std::string(name(summary.termination)) + ": ";
  if (summary.termination == Termination::converged && message.starts_with(prefix))
    message.remove_prefix(prefix.size());
  return fmt::format("Result {}: {}\n", name(summary.verdict), message);
}

}  // namespace

std::string aligned_table(const std::vector<std::vector<std::string>>& rows, const char* indent) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], count_code_points(row[k]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string padding(width[k] - count_code_points(row[k]), ' ');
      line += (k == 0 ? "" : "  ") + (k == 0 ? row[k] + padding : padding + row[k]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string significant(double value, int digits) {
  return std::isnan(value) ? "undefined" : fmt::format("{:.{}g}", value, digits);
}

std::string format_estimate(double value, double error) {
  if (!std::isfinite(value)) return significant(value);
  int digits = 10;
  if (std::isfinite(error) && error > 0 && value != 0) {
    digits = static_cast<int>(std::floor(std::log10(std::fabs(value))) - std::floor(std::log10(error))) + 3;
  }
  return fmt::format("{:.{}g}", value, std::clamp(digits, 6, 17));
}

std::string interval_text(double low, double high, double error) {
  if (std::isnan(low) || std::isnan(high)) return "undefined";
  return fmt::format("[{}, {}]", format_estimate(low, error), format_estimate(high, error));
}

std::string text_report(const FitReport& report) {
  const FitResult& fit = report.fit;
  std::string out = data_lines(report.data);
  if (report.comparison != nullptr) out += comparison_table(*report.comparison);
  out += model_lines(report.model);
  out += result_line(fit.summary);
  if (report.was_interrupted) out += "       interrupted: these are the best parameters so far\n";
  out += fmt::format("\n{}\n", parameter_table(report));
  if (report.fitted_after) out += moves_table(fit, *report.fitted_after);
  out += derived_table(report) + bootstrap_table(report) + prediction_table(report);
  out += quality_lines(report) + correlation_lines(fit) + minima_lines(fit);
  for (const std::string& warning : report.warnings) out += fmt::format("Warning: {}\n", warning);
  out += precision_line(report);
  if (report.optimized) out += optimize_lines(*report.optimized);
  if (report.profile) out.append("\n").append(report.profile->table());
  if (report.arguments.trace) out.append("\n").append(fit.summary.trace_report());
  return out;
}

}  // namespace nlsq::cli

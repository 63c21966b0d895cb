// Formats derived quantities, the bootstrap and predictions for the text report.
#include "prediction/prediction_text.hpp"

#include "report/report.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostLines = 25;

using Rows = std::vector<std::vector<std::string>>;

std::string percent(double confidence) { return fmt::format("{:g} %", 100 * confidence); }

}  // namespace

std::string derived_table(const FitReport& report) {
  const auto& derived = report.after.derived;
  if (derived.empty()) return "";
  Rows rows;
  const std::string confidence = percent(report.arguments.confidence);
  rows.push_back({"derived", "value", "", "std. error",
                  fmt::format("{} {}interval", confidence, derived.front().by_profile ? "profile " : "")});
  for (const DerivedQuantity& q : derived) {
    rows.push_back({fmt::format("{} = {}", q.name, printable(q.expression, 40)),
                    format_estimate(q.value, q.standard_error), "±", significant(q.standard_error, 3),
                    interval_text(q.ci_low, q.ci_high, q.standard_error)});
  }
  return aligned_table(rows, "  ") + "\n";
}

std::string bootstrap_table(const FitReport& report) {
  if (!report.after.bootstrap) return "";
  const Bootstrap& b = *report.after.bootstrap;
  Rows rows;
  rows.push_back({"bootstrap", "bias", "", "std. error", percent(b.confidence) + " percentiles"});
  for (const auto* list : {&b.parameters, &b.derived}) {
    for (const BootstrapEstimate& e : *list) {
      if (e.standard_error == 0) continue;  // fixed
      rows.push_back({e.name, significant(e.bias, 3), "±", significant(e.standard_error, 3),
                      interval_text(e.ci_low, e.ci_high, e.standard_error)});
    }
  }
  return aligned_table(rows, "  ") + fmt::format("  {} samples by {} resampling, seed {}, {} failed\n\n",
                                                 b.samples, name(b.method), b.seed, b.failures);
}

std::string prediction_table(const FitReport& report) {
  const PredictionResults& after = report.after;
  if (!after.prediction || !report.arguments.prediction.csv.empty()) return "";
  const Prediction& p = *after.prediction;
  Rows rows{after.predictors};
  const std::string confidence = percent(p.confidence);
  for (const char* title : {"fit", "std. error"}) rows[0].emplace_back(title);
  rows[0].push_back(fmt::format("{} confidence{}", confidence, after.by_profile ? " (profile)" : ""));
  rows[0].push_back(confidence + " prediction");
  for (std::size_t i = 0; i < std::min(p.size(), kMostLines); ++i) {
    std::vector<std::string> row;
    for (std::size_t k = 0; k < after.x.size(); ++k)
      row.push_back(date_text(after.times[k], after.x[k][i]).value_or(format_estimate(after.x[k][i], 0)));
    const double error = p.standard_error[i];
    row.push_back(format_estimate(p.fit[i], error));
    row.push_back(significant(error, 3));
    row.push_back(interval_text(p.confidence_low[i], p.confidence_high[i], error));
    row.push_back(interval_text(p.prediction_low[i], p.prediction_high[i], error));
    rows.push_back(std::move(row));
  }
  std::string out = aligned_table(rows, "  ");
  if (p.size() > kMostLines)
    out += fmt::format("  and {} more points (--csv FILE writes all)\n", p.size() - kMostLines);
  return out + "\n";
}

}  // namespace nlsq::cli

// Writes the comparison of models for people.
#include "compare/compare_report.hpp"
#include "report/report.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostName = 48;  // largest number of characters of a model in the table

std::string number(double value, int digits = 6) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "undefined";
}

std::string shown(const ModelFit& m) { return printable(m.name, kMostName); }

bool of_counts(const ModelComparison& comparison) {
  for (const ModelFit& m : comparison.models) {
    if (m.fit) return m.fit->loss.is_counts();
  }
  return false;
}

std::string table(const ModelComparison& comparison) {
  const bool counts = of_counts(comparison);
  std::vector<std::vector<std::string>> rows = {{"model", "parameters", counts ? "deviance" : "rss",
                                                 counts ? "reduced deviance" : "reduced χ²", "R²", "AIC",
                                                 "AICc", "BIC", "weight", "verdict"}};
  for (const ModelFit& m : comparison.models) {
    if (!m.fit) {
      rows.push_back({shown(m), "", "", "", "", "", "", "", "", "no fit"});
      continue;
    }
    const FitResult& fit = *m.fit;
    rows.push_back({shown(m), fmt::format("{}", m.parameters), number(fit.rss), number(fit.chi2_reduced),
                    number(fit.r_squared), number(fit.aic), number(m.aicc), number(fit.bic),
                    m.success() ? number(m.weight, 3) : "", name(fit.summary.verdict)});
  }
  return aligned_table(rows, "  ");
}

// Returns the reason of each failure, because the table has no room for it.
std::string failures(const ModelComparison& comparison) {
  std::string out;
  for (const ModelFit& m : comparison.models) {
    if (m.success()) continue;
    out += fmt::format("  {}: {}\n", shown(m), m.fit ? m.fit->summary.message : m.error);
  }
  return out;
}

std::string tests(const ModelComparison& comparison) {
  std::string out;
  for (const NestedTest& t : comparison.tests) {
    const auto smaller = shown(comparison.models[t.smaller]), larger = shown(comparison.models[t.larger]);
    out += fmt::format("  {} in {}: ", smaller, larger);
    if (std::isnan(t.p_value)) {
      out += fmt::format("no test, because {}\n", t.note);
      continue;
    }
    out += t.chi_square ? fmt::format("χ²({:g}) = {}", t.dof, number(t.statistic, 4))
                        : fmt::format("F({:g}, {:g}) = {}", t.dof, t.dof_larger, number(t.statistic, 4));
    out += fmt::format(", p = {}{}\n", number(t.p_value, 3), t.approximate ? " (approximate)" : "");
  }
  if (!out.empty()) out = "Tests of nested models; a small p speaks for the larger one\n" + out;
  if (comparison.unknown.empty()) return out;
  std::string pairs;
  for (const auto& [i, j] : comparison.unknown) {
    pairs += fmt::format("{}{} and {}", pairs.empty() ? "" : "; ", shown(comparison.models[i]),
                         shown(comparison.models[j]));
  }
  return out + fmt::format("Not known to be nested, and not tested: {}\n", pairs);
}

}  // namespace

std::string comparison_table(const ModelComparison& comparison) {
  std::string out = fmt::format("\nComparison of {} models, the best by AICc first\n{}",
                                comparison.models.size(), table(comparison));
  out += failures(comparison) + tests(comparison);
  for (const std::string& warning : comparison.warnings) out += fmt::format("Warning: {}\n", warning);
  return out + (comparison.has_best() ? "\nThe best model\n"
                                      : "\nNo model reached a certified minimum; this is the fit with the "
                                        "smallest sum of squares\n");
}

}  // namespace nlsq::cli

// Finds the profile intervals of parameters for --intervals profile.
#include "prediction/parameter_intervals.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace nlsq::cli {

namespace {

// Warns about intervals that are not those of a profile that was followed to its end.
void warn_of_other_intervals(const FitResult& fit, const ProfileIntervals& found,
                             std::vector<std::string>& warnings) {
  for (const ProfileInterval& i : found.intervals) {
    if (i.lower_end == IntervalEnd::failed || i.upper_end == IntervalEnd::failed) {
      warnings.push_back(fmt::format("the profile of {} could not be followed to its end", i.parameter));
    }
    if (i.lower_end == IntervalEnd::at_bound || i.upper_end == IntervalEnd::at_bound) {
      warnings.push_back(fmt::format("the interval of {} ends at its bound", i.parameter));
    }
  }
  std::vector<std::string> tied;
  for (std::size_t j = 0; j < fit.ties.size(); ++j)
    if (!fit.ties[j].empty()) tied.push_back(fit.parameter_names[j]);
  if (!tied.empty()) {
    warnings.push_back(
        fmt::format("the interval of {} is from the standard error, because a tie gives the value; --derive "
                    "has profile intervals of expressions",
                    fmt::join(tied, ", ")));
  }
}

}  // namespace

void find_intervals(const FitOptions& options, FitReport& report) {
  if (!report.arguments.profile_intervals) return;
  const FitResult& fit = report.fit;
  const bool has_scale = options.absolute_sigma || fit.loss.is_counts() || (fit.dof > 0 && fit.rss > 0);
  if (!fit.success() || !has_scale) {
    report.warnings.push_back(
        "--intervals profile: without a certified minimum and degrees of freedom there are none; these are "
        "from standard errors");
    return;
  }
  IntervalOptions wanted;
  wanted.confidence = report.arguments.confidence;
  const Columns x(report.data.predictors);
  report.intervals = profile_intervals(report.model.prepared(), x, report.data.y, fit, options, wanted);
  warn_of_other_intervals(fit, *report.intervals, report.warnings);
  if (!report.intervals->better_found) return;
  std::string start;
  for (std::size_t j = 0; j < report.intervals->better.size(); ++j) {
    start +=
        fmt::format("{}{}={:.6g}", j == 0 ? "" : ",", fit.parameter_names[j], report.intervals->better[j]);
  }
  report.warnings.push_back(
      fmt::format("a fit with a parameter held found a lower cost: start at --p0 {}", start));
}

}  // namespace nlsq::cli

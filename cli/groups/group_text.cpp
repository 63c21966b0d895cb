// Writes the table of groups in the report for people.
#include "groups/group_report.hpp"
#include "report/report.hpp"
#include "report/text_kinds.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostGroups = 100;  // in the table; --csv and --json have all
constexpr std::size_t kMostReasons = 20;  // of groups that did not succeed
constexpr std::size_t kLongestName = 60;

std::string with_error(const GroupReport& report, std::size_t k, std::size_t j) {
  const double value = report.fits.parameters(k, j), error = report.fits.standard_errors(k, j);
  if (report.fixed(j)) return significant(value) + " fixed";
  if (report.fits.is_at_bound(k, j)) return significant(value) + " at bound";
  return format_estimate(value, error) +
         (std::isfinite(error) ? fmt::format(" ± {:.3g}", error) : " ± undefined");
}

std::string table(const GroupReport& report) {
  const GroupsResult& fits = report.fits;
  std::vector<std::vector<std::string>> rows(1);
  rows[0] = {printable(report.title(), kLongestName), "rows"};
  for (std::size_t j = 0; j < fits.parameter_names.size(); ++j)
    if (!report.shared(j)) rows[0].push_back(fits.parameter_names[j]);
  rows[0].insert(rows[0].end(), {"R²", "verdict"});
  for (std::size_t k = 0; k < std::min(fits.size(), kMostGroups); ++k) {
    std::vector<std::string>& row = rows.emplace_back(
        std::vector{printable(report.names[k], kLongestName), std::to_string(fits.rows[k])});
    for (std::size_t j = 0; j < fits.parameter_names.size(); ++j)
      if (!report.shared(j)) row.push_back(with_error(report, k, j));
    row.push_back(significant(fits.r_squared[k]));
    row.emplace_back(name(fits.verdict[k]));
  }
  std::string out = aligned_table(rows, "  ");
  if (fits.size() > kMostGroups)
    out += fmt::format("  and {} more groups (--csv FILE writes all)\n", fits.size() - kMostGroups);
  return out;
}

}  // namespace

// Returns the shared parameters of a joint fit, and its statistics.
static std::string joint_text(const GroupReport& report, bool certified) {
  const JointFit& joint = *report.fits.joint;
  std::vector<std::vector<std::string>> rows = {{"shared", "value", "std. error"}};
  for (std::size_t j = 0; j < joint.parameters.size(); ++j) {
    rows.push_back({joint.parameter_names[j], format_estimate(joint.parameters[j], joint.standard_errors[j]),
                    report.shared_at_bound(j) ? "at bound" : significant(joint.standard_errors[j])});
  }
  return fmt::format(
      "{} of one fit of {} groups{}{}\n\n{}\nRows {}, degrees of freedom {}, reduced χ² {}\n\n",
      name(joint.summary.verdict), joint.groups, certified ? "" : ": ",
      certified ? "" : joint.summary.message, aligned_table(rows, "  "), joint.rows, joint.dof,
      significant(joint.chi2_reduced));
}

std::string failed_groups(const GroupReport& report) {
  const GroupsResult& fits = report.fits;
  std::string out;
  std::size_t listed = 0;
  for (std::size_t k = 0; k < fits.size() && listed < kMostReasons; ++k) {
    if (is_success(fits.verdict[k])) continue;
    out += fmt::format("  {}: {}\n", printable(report.names[k], kLongestName), fits.message[k]);
    ++listed;
  }
  if (report.failed() > listed) out += fmt::format("  and {} more\n", report.failed() - listed);
  return fmt::format("{} of {} groups did not succeed:\n{}", report.failed(), fits.size(), out);
}

// Returns a line for each kind of warning of the groups' fits.
static std::string group_warnings(const GroupReport& report) {
  std::map<std::size_t, std::string> texts;
  for (std::size_t k = 0; k < report.fits.size(); ++k)
    if (!report.fits.warnings[k].empty()) texts[k] = report.fits.warnings[k];
  std::string out;
  for (const auto& [first, groups] : text_kinds(texts)) {
    out += fmt::format("Warning: {} group{}, the first is {}: {}\n", groups, groups == 1 ? "" : "s",
                       printable(report.names[first], kLongestName), texts.at(first));
  }
  return out;
}

std::string group_text(const GroupReport& report) {
  const GroupsResult& fits = report.fits;
  std::string out = data_lines(report.data) + model_lines(report.model);
  if (fits.joint) out += "Result " + joint_text(report, is_success(fits.joint->summary.verdict));
  out += fmt::format("Groups {}, of which {} succeeded\n\n{}\n", fits.size(), fits.succeeded, table(report));
  if (report.failed() > 0) out += failed_groups(report) + "\n";
  for (const std::string& warning : report.warnings) out += fmt::format("Warning: {}\n", warning);
  out += group_warnings(report);
  return out + fmt::format("Time   {:.3g} s (read {:.3g} s), {} groups fitted in lanes\n",
                           report.total_seconds, report.read_seconds, fits.in_lanes);
}

}  // namespace nlsq::cli

// Writes --csv and --json of groups. They are written in pieces, because there may be very many groups.
#include "errors.hpp"
#include "groups/group_report.hpp"
#include "report/json_report.hpp"
#include "report/statistics.hpp"
#include "report/text_pieces.hpp"

#include <nlsq/json/fit.hpp>
#include <nlsq/version.hpp>

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace nlsq::cli {

namespace {

constexpr std::size_t kGroupsOfPiece = 512;  // groups whose text is formed at once

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// Appends the shortest digits that read back as the value. There may be a million numbers, so the format is
// compiled, and the digits reach the text at once.
void add_digits(std::string& out, double value) {
  char text[32];
  out.append(text, fmt::format_to(text, FMT_COMPILE("{}"), value));
}

void add_number(std::string& out, double value) {
  if (std::isfinite(value)) add_digits(out, value);
  else out += "null";
}

void add_interval(std::string& out, double value, double half) {
  out += ",\"ci_low\":";
  add_number(out, value - half);
  out += ",\"ci_high\":";
  add_number(out, value + half);
}

// Writes the lines of all groups. add_lines(first, last, out) adds those of groups [first, last).
template <class AddLines>
void write_lines(const GroupReport& report, OutputFile& file, AddLines add_lines) {
  const std::size_t groups = report.fits.size();
  const std::size_t pieces = (groups + kGroupsOfPiece - 1) / kGroupsOfPiece;
  write_pieces(file, pieces, report.arguments.threads, [&](std::size_t piece) {
    std::string out;
    const std::size_t first = piece * kGroupsOfPiece;
    add_lines(first, std::min(groups, first + kGroupsOfPiece), out);
    return out;
  });
}

// Computes the half-width of an interval in standard errors, by degrees of freedom. It keeps computed values,
// because groups mostly have few different degrees of freedom.
class Quantiles {
 public:
  explicit Quantiles(const GroupReport& report) : report_(report) {}
  double of(std::ptrdiff_t dof) {
    const bool normal = report_.options.absolute_sigma || report_.options.loss.is_counts();
    const double given = normal ? std::numeric_limits<double>::infinity() : static_cast<double>(dof);
    const auto [entry, fresh] = known_.try_emplace(given, 0.0);
    if (fresh) entry->second = student_t_quantile(report_.arguments.confidence, given);
    return entry->second;
  }

 private:
  const GroupReport& report_;
  std::unordered_map<double, double> known_;
};

void add_parameters(std::string& out, const GroupReport& report, std::size_t k, double quantile) {
  const GroupsResult& fits = report.fits;
  out += "\"parameters\":[";
  for (std::size_t j = 0; j < fits.parameter_names.size(); ++j) {
    const double value = fits.parameters(k, j), error = fits.standard_errors(k, j);
    const double half = report.fixed(j) ? 0 : quantile * error;
    out +=
        fmt::format("{}{{\"name\":{},\"value\":", j == 0 ? "" : ",", json_text(report.parameter_name(k, j)));
    add_number(out, value);
    out += ",\"std_error\":";
    add_number(out, error);
    add_interval(out, value, half);
    out += report.fixed(j) ? ",\"fixed\":true" : ",\"fixed\":false";
    out += fits.is_at_bound(k, j) ? ",\"at_bound\":true" : ",\"at_bound\":false";
    out += report.shared(j) ? ",\"shared\":true}" : "}";
  }
  out += "],";
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    out += out.empty() ? "[" : ",";
    out += json_text(text);
  }
  return out.empty() ? "[]" : out + "]";
}

// Returns the fields of a joint fit: the shared parameters with their covariance, and the statistics of all
// groups together.
std::string joint_fields(const GroupReport& report) {
  if (!report.fits.joint) return {};
  const JointFit& joint = *report.fits.joint;
  const double quantile = Quantiles(report).of(joint.dof);
  std::string out = "\"shared\":[";
  for (std::size_t j = 0; j < joint.parameters.size(); ++j) {
    out += fmt::format("{}{{\"name\":{},\"value\":", j == 0 ? "" : ",", json_text(joint.parameter_names[j]));
    add_number(out, joint.parameters[j]);
    out += ",\"std_error\":";
    add_number(out, joint.standard_errors[j]);
    add_interval(out, joint.parameters[j], quantile * joint.standard_errors[j]);
    out += fmt::format(",\"at_bound\":{}}}", report.shared_at_bound(j));
  }
  out += "],\"shared_covariance\":[";
  for (std::size_t i = 0; i < joint.parameters.size(); ++i) {
    out += i == 0 ? "[" : ",[";
    for (std::size_t j = 0; j < joint.parameters.size(); ++j) {
      if (j > 0) out += ',';
      add_number(out, joint.covariance(i, j));
    }
    out += ']';
  }
  out += fmt::format("],\"joint_groups\":{},\"joint_rows\":{},\"dof\":{},\"rss\":", joint.groups, joint.rows,
                     joint.dof);
  add_number(out, joint.rss);
  out += ",\"chi2_reduced\":";
  add_number(out, joint.chi2_reduced);
  return out + fmt::format(",\"status\":\"{}\",\"verdict\":\"{}\",\"message\":{},",
                           status_word(joint.summary.termination), name(joint.summary.verdict),
                           json_text(joint.summary.message));
}

std::string summary_line(const GroupReport& report) {
  const GroupsResult& fits = report.fits;
  std::vector<std::string> failed;
  for (std::size_t k = 0; k < fits.size(); ++k) {
    if (!is_success(fits.verdict[k])) failed.push_back(report.names[k]);
  }
  std::string files;
  for (const InputFile& file : report.files) {
    files += fmt::format("{}{{\"name\":{},\"rows\":{},\"checksum\":{}}}", files.empty() ? "" : ",",
                         json_text(file.name), file.rows, json_text(file.checksum));
  }
  const ModelChoice& model = report.model;
  return fmt::format(
      "{{\"groups\":{},\"succeeded\":{},\"failed\":{},\"failed_groups\":{},\"rows\":{},\"excluded\":{},"
      "\"missing_y\":{},"
      "\"group_by\":{},\"model\":{},\"formula\":{},\"confidence\":{},\"absolute_sigma\":{},\"warnings\":{},"
      "\"in_lanes\":{},{}{},\"version\":{},\"options\":{},\"files\":[{}],"
      "\"time\":{{\"read\":{},\"total\":{}}}}}\n",
      fits.size(), fits.succeeded, report.failed(), json_list(failed), report.data.rows(),
      report.data.excluded(), report.data.missing_y, json_text(report.title()),
      json_text(model.name_or(report.arguments.model)), json_text(model.formula.text),
      report.arguments.confidence, report.options.absolute_sigma, json_list(report.warnings), fits.in_lanes,
      joint_fields(report), json_columns(report.data), json_text(version()),
      json_list(report.arguments.words), files, report.read_seconds, report.total_seconds);
}

}  // namespace

void check_names_in_csv(const std::vector<std::string>& parameters) {
  constexpr std::string_view kOther[] = {"group", "rows", "cost", "r_squared", "verdict"},
                             kError = "_std_error";
  for (const std::string& name : parameters) {
    const bool of_error = name.ends_with(kError) &&
                          std::ranges::count(parameters, name.substr(0, name.size() - kError.size())) > 0;
    if (of_error || std::ranges::count(kOther, name) > 0)
      throw UsageError(fmt::format(
          "--csv: {} is the name of another column of the table of groups; name the parameter otherwise",
          name));
  }
}

void write_group_csv(const GroupReport& report, OutputFile& file) {
  const GroupsResult& fits = report.fits;
  std::string header = "group,rows";
  for (const std::string& parameter : fits.parameter_names)
    header += fmt::format(",{0},{0}_std_error", parameter);
  file.write(header + ",cost,r_squared,verdict\n");
  write_lines(report, file, [&](std::size_t first, std::size_t last, std::string& out) {
    const auto add_cell = [&](double value) {
      out += ',';
      add_digits(out, value);
    };
    for (std::size_t k = first; k < last; ++k) {
      out += csv_text(report.names[k]);
      fmt::format_to(std::back_inserter(out), ",{}", fits.rows[k]);
      for (std::size_t j = 0; j < fits.parameter_names.size(); ++j) {
        add_cell(fits.parameters(k, j));
        add_cell(fits.standard_errors(k, j));
      }
      add_cell(fits.cost[k]);
      add_cell(fits.r_squared[k]);
      out.append(",").append(name(fits.verdict[k])).append("\n");
    }
  });
}

void write_group_json(const GroupReport& report, OutputFile& file) {
  const GroupsResult& fits = report.fits;
  write_lines(report, file, [&](std::size_t begin, std::size_t end, std::string& out) {
    Quantiles quantiles(report);
    for (std::size_t k = begin; k < end; ++k) {
      out += fmt::format("{{\"group\":{},\"rows\":{},\"dof\":{},", json_text(report.names[k]), fits.rows[k],
                         fits.dof[k]);
      add_parameters(out, report, k, quantiles.of(fits.dof[k]));
      const std::pair<const char*, double> statistics[] = {{"cost", fits.cost[k]},
                                                           {"rss", fits.rss[k]},
                                                           {"r_squared", fits.r_squared[k]},
                                                           {"decrement_sigma", fits.decrement_sigma[k]}};
      for (const auto& [what, value] : statistics) {
        out += fmt::format("\"{}\":", what);
        add_number(out, value);
        out += ',';
      }
      out += fmt::format(
          "\"iterations\":{},\"status\":\"{}\",\"verdict\":\"{}\",\"message\":{},\"warnings\":{}}}\n",
          fits.iterations[k], status_word(fits.termination[k]), name(fits.verdict[k]),
          json_text(fits.message[k]),
          json_list(fits.warnings[k].empty() ? std::vector<std::string>() : std::vector{fits.warnings[k]}));
    }
  });
  file.write(summary_line(report));
}

}  // namespace nlsq::cli

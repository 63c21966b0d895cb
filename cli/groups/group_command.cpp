// Implements --group-by: reads the table, fits its groups, and writes the outputs.
#include "groups/group_command.hpp"

#include "errors.hpp"
#include "fit_command.hpp"
#include "groups/group_names.hpp"
#include "groups/group_places.hpp"
#include "groups/group_report.hpp"
#include "groups/several_responses.hpp"
#include "interrupt.hpp"
#include "processes/processes.hpp"
#include "processes/shared_data.hpp"
#include "progress.hpp"
#include "report/checkpoint.hpp"
#include "report/output_check.hpp"
#include "report/output_file.hpp"
#include "stopwatch.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

namespace nlsq::cli {

namespace {

GroupsResult fit_groups(const ModelChoice& model, const FitData& data, const Column& group,
                        const NamedValues& p0, const GroupOptions& options) {
  try {
    GroupsResult fits =
        curve_fit_groups(model.prepared(), Columns(data.predictors), data.y, group, p0, options);
    name_places(data, group, fits);
    return fits;
  } catch (const DataError& e) {
    // If no group can take part in a joint fit, the error has the message of the first group.
    const bool of_first = !options.share.empty() && e.row() == DataError::npos;
    throw BadData(fmt::format("{}: {}", data.source,
                              of_first ? with_places_of_first(e.what(), data, group) : e.what()));
  } catch (const JournalError& e) {
    throw OutputError(e.what());
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

void write_outputs(const GroupReport& report) {
  const Arguments& arguments = report.arguments;
  const std::string& csv = arguments.prediction.csv;
  if (!arguments.quiet) {
    if (arguments.json != "-" && csv != "-") {
      write_stdout(group_text(report));
    } else {  // standard output has the data, so the rest goes to stderr
      for (const std::string& warning : report.warnings)
        fmt::print(stderr, "nlsq-fit: warning: {}\n", warning);
      if (report.failed() > 0) fmt::print(stderr, "nlsq-fit: {}", failed_groups(report));
    }
  }
  if (!arguments.json.empty()) {
    OutputFile file(arguments.json);
    write_group_json(report, file);
    file.commit();
  }
  if (!csv.empty()) {
    OutputFile file(csv);
    write_group_csv(report, file);
    file.commit();
  }
}

}  // namespace

bool GroupReport::fixed(std::size_t parameter) const {
  return std::ranges::find(options.fixed, fits.parameter_names[parameter]) != options.fixed.end();
}

bool GroupReport::shared(std::size_t parameter) const {
  return std::ranges::find(arguments.share, fits.parameter_names[parameter]) != arguments.share.end();
}

bool GroupReport::shared_at_bound(std::size_t j) const {
  const auto name = std::ranges::find(fits.parameter_names, fits.joint->parameter_names[j]);
  const auto parameter = static_cast<std::size_t>(name - fits.parameter_names.begin());
  for (std::size_t k = 0; k < fits.size(); ++k) {
    if (fits.is_at_bound(k, parameter)) return true;
  }
  return false;
}

std::string GroupReport::parameter_name(std::size_t group, std::size_t parameter) const {
  const std::string& name = fits.parameter_names[parameter];
  return arguments.share.empty() || shared(parameter) || fixed(parameter)
             ? name
             : fmt::format("{}[{}]", name, names[group]);
}

std::string GroupReport::title() const {
  return data.group_expression ? column_title(data.shape, *data.group_expression) : "y";
}

std::string option_of_one_fit(const Arguments& arguments) {
  const PredictionArguments& after = arguments.prediction;
  const std::pair<const char*, bool> options[] = {{"--compare", !arguments.compare.models.empty()},
                                                  {"--certify", arguments.certify},
                                                  {"--predict", !after.predict.empty()},
                                                  {"--derive", !after.derive.empty()},
                                                  {"--bootstrap", after.bootstrap > 0},
                                                  {"--intervals profile", arguments.profile_intervals},
                                                  {"--residuals", !arguments.residuals.empty()},
                                                  {"--plot", !arguments.plot.files.empty()},
                                                  {"--report", !arguments.plot.html.empty()},
                                                  {"--optimize", arguments.optimize.has_value()},
                                                  {"--profile", arguments.profile},
                                                  {"--trace", arguments.trace}};
  const auto given = std::ranges::find_if(options, [](const auto& option) { return option.second; });
  return given == std::end(options) ? "" : given->first;
}

void check_group_arguments(const Arguments& arguments) {
  if (!may_have_groups(arguments.selection)) {
    if (!arguments.share.empty())
      throw UsageError("--share is for groups: it needs --group-by COL, or several columns in --y");
    return;
  }
  if (!arguments.selection.group_by.empty() && split_list(arguments.selection.y).size() > 1)
    throw UsageError("--group-by and several columns in --y exclude each other: give one of them");
  if (arguments.confidence_given && arguments.json.empty())
    throw UsageError("--confidence is of intervals, which groups have in --json alone: give --json FILE");
  const std::string option = option_of_one_fit(arguments);
  if (option.empty()) return;
  throw UsageError(
      arguments.selection.group_by.empty()
          ? fmt::format("{} is not available with several columns in --y; fit one of them instead", option)
          : fmt::format("{} is not available with --group-by; fit one group with --where instead", option));
}

int group_command(const Arguments& arguments) {
  const Stopwatch clock;
  const NamedValues p0 = starting_values(arguments);
  check_outputs(inputs_of(arguments), {{"--json", arguments.json},
                                       {"--csv", arguments.prediction.csv},
                                       {"--checkpoint", arguments.checkpoint}});
  CsvOptions csv = arguments.csv;
  csv.threads = arguments.threads;
  std::optional<ProgressPart> part(std::in_place, "reading", bytes_of(arguments.files), true);
  InputData input = read_data(arguments.files, csv, arguments.selection, !arguments.json.empty());
  FitData& data = input.data;
  data.journal = open_checkpoint(arguments);
  part.reset();
  if (data.more_y.empty() && arguments.selection.group_by.empty()) {
    throw UsageError(fmt::format("--y {0}: this is the name of one column; write --y '`{0}`'",
                                 printable(arguments.selection.y, 200)));
  }
  if (!data.has_text) refuse_options_of_text(csv, data.source);
  const double read_seconds = clock.seconds();

  const ModelChoice model = choose_model(arguments.model, data, names_given(arguments, p0));
  check_names(p0, arguments, model.formula);
  if (!arguments.prediction.csv.empty()) check_names_in_csv(model.formula.parameters);
  if (!data.more_y.empty()) stack_responses(data);
  GroupOptions options = fit_options(arguments, data, model.formula.parameters);
  options.callback = {};
  options.share = arguments.share;
  // A signal can end the process at once, because groups have no best result so far.
  const EndsAtOnce from_here;
  const GroupNames names(data, csv.number);
  part.emplace("fitting groups");
  options.progress = progress_of;
  GroupsResult fits = fit_groups(model, data, names.column(), p0, options);
  part.reset();
  GroupReport report{arguments, data, model, options, fits, {}};
  for (const std::size_t row : fits.first_row) report.names.push_back(names.name(row));
  report.warnings = warnings_of(data, model);
  report.read_seconds = read_seconds;
  report.total_seconds = clock.seconds();
  report.files = describe_inputs(arguments.files, data.read, input.inputs);
  if (first_process()) write_outputs(report);
  return fits.success() ? kExitConverged : kExitEnded;
}

}  // namespace nlsq::cli

// Runs one fit of nlsq-fit: reads the table, chooses the model, fits, and writes the report.
#include "fit_command.hpp"

#include "certify/certify_arguments.hpp"
#include "compare/compare_models.hpp"
#include "errors.hpp"
#include "groups/group_command.hpp"
#include "images/image_command.hpp"
#include "nearest.hpp"
#include "plot/plot_output.hpp"
#include "prediction/parameter_intervals.hpp"
#include "processes/processes.hpp"
#include "processes/shared_data.hpp"
#include "progress.hpp"
#include "report/advice_on_starts.hpp"
#include "report/checkpoint.hpp"
#include "report/json_report.hpp"
#include "report/output_check.hpp"
#include "report/output_file.hpp"
#include "report/report.hpp"
#include "report/residual_file.hpp"
#include "report/row_places.hpp"
#include "report/statistics.hpp"
#include "stopwatch.hpp"

#include <nlsq/json/fit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

namespace nlsq::cli {

namespace {

// Returns bounds for all parameters of the model. Parameters without bounds get infinities.
Bounds bounds_of(const Arguments& arguments, const std::vector<std::string>& parameters) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (arguments.bounds.empty()) return {};
  Bounds bounds{std::vector<double>(parameters.size(), -kInfinity),
                std::vector<double>(parameters.size(), kInfinity)};
  for (const auto& [name, lower, upper] : arguments.bounds) {
    const auto j =
        static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), name) - parameters.begin());
    bounds.lower[j] = lower;
    bounds.upper[j] = upper;
  }
  return bounds;
}

}  // namespace

std::string tied_name(const std::string& tie) {
  return std::string(trim_blanks(tie.substr(0, tie.find('='))));
}

bool is_tied(const std::vector<std::string>& ties, const std::string& name) {
  return std::ranges::find(ties, name, tied_name) != ties.end();
}

FitOptions fit_options(const Arguments& arguments, const FitData& data,
                       const std::vector<std::string>& parameters) {
  FitOptions options;
  options.bounds = bounds_of(arguments, parameters);
  if (arguments.starts) options.starts = *arguments.starts;
  if (arguments.seed) options.seed = *arguments.seed;
  options.sigma = data.sigma;
  options.sigma_x = data.sigma_x;
  options.absolute_sigma = arguments.absolute_sigma;
  options.loss = arguments.loss;
  options.variable_projection = arguments.variable_projection;
  options.ties = arguments.ties;
  options.fixed = arguments.fixed;
  options.precision = arguments.precision;
  if (arguments.ftol) options.ftol = *arguments.ftol;
  if (arguments.xtol) options.xtol = *arguments.xtol;
  if (arguments.gtol) options.gtol = *arguments.gtol;
  options.algorithm = arguments.strategy;
  options.nonmonotonic_steps = arguments.nonmonotonic;
  if (arguments.max_iterations) options.max_iterations = *arguments.max_iterations;
  options.threads = arguments.threads;
  options.team = data.team;
  options.journal = data.journal;
  if (arguments.time_limit) options.max_seconds = *arguments.time_limit;
  options.callback = [](const IterationSummary& s) {
    progress_iteration(s.iteration, s.cost);
    return shall_stop() ? Stop : Continue;
  };
  return options;
}

// Throws UsageError for a value of --fix outside --bounds. The library would call it a start.
void check_fixed(const Arguments& arguments, const NamedValues& p0) {
  for (const auto& [name, value] : p0) {
    const auto bound = std::ranges::find(arguments.bounds, name, &Arguments::Interval::name);
    if (bound == arguments.bounds.end() || (value >= bound->lower && value <= bound->upper)) continue;
    if (std::ranges::find(arguments.fixed, name) == arguments.fixed.end()) continue;
    throw UsageError(fmt::format("--fix {}={} is {}: a fixed parameter needs no --bounds", name, value,
                                 value < bound->lower
                                     ? fmt::format("below its lower bound {}", bound->lower)
                                     : fmt::format("above its upper bound {}", bound->upper)));
  }
}

NamedValues starting_values(const Arguments& arguments) {
  NamedValues p0 = arguments.p0;
  if (!arguments.p0_file.empty()) {
    for (auto& [name, value] : read_start_file(arguments.p0_file)) {
      if (!is_tied(arguments.ties, name) && !has_value(p0, name)) p0.emplace_back(std::move(name), value);
    }
  }
  check_fixed(arguments, p0);
  return p0;
}

std::vector<std::string> warnings_of(const FitData& data, const ModelChoice& model) {
  std::vector<std::string> warnings;
  if (data.underflows > 0) {
    warnings.push_back(fmt::format("{} number{} too small for a double, read as 0 (first: {})",
                                   data.underflows, data.underflows == 1 ? "" : "s", data.first_underflow));
  }
  warnings.insert(warnings.end(), data.warnings.begin(), data.warnings.end());
  warnings.insert(warnings.end(), model.warnings.begin(), model.warnings.end());
  return warnings;
}

std::vector<std::string> free_names(const FitResult& fit, std::span<const int> indices) {
  const std::vector<std::string> free = nlsq::free_names(fit);
  std::vector<std::string> out;
  for (const int j : indices) out.push_back(free[static_cast<std::size_t>(j)]);
  return out;
}

std::vector<std::string> names_given(const Arguments& arguments, const NamedValues& p0) {
  std::vector<std::string> names = arguments.fixed;
  for (const auto& [name, value] : p0) names.push_back(name);
  for (const auto& bound : arguments.bounds) names.push_back(bound.name);
  for (const std::string& tie : arguments.ties) names.push_back(tied_name(tie));
  return names;
}

void check_names(const NamedValues& p0, const Arguments& arguments, const Formula& formula) {
  const auto check = [&](const std::string& name, const char* option) {
    const auto& all = formula.parameters;
    if (std::find(all.begin(), all.end(), name) != all.end()) return;
    throw UsageError(fmt::format("{}: the model has no parameter '{}'; its parameters are {}{}", option, name,
                                 fmt::join(all, ", "), suggest_nearest(name, all)));
  };
  for (const std::string& name : arguments.fixed) check(name, "--fix");
  for (const auto& [name, value] : p0) check(name, "--p0");
  for (const auto& bound : arguments.bounds) check(bound.name, "--bounds");
}

namespace {

// Converts the library's exceptions to errors of the command line or of the data. Row numbers refer to the
// table.
template <class Run>
auto run_checked(const FitData& data, Run run) {
  try {
    return run();
  } catch (const JournalError& e) {
    throw OutputError(e.what());
  } catch (const DataError& e) {
    throw BadData(placed_message(e, data));
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

FitFunction fit_function(const ModelChoice& model, const NamedValues& p0, bool certify = false) {
  return [&model, &p0, certify](const Columns& x, const Column& y, const FitOptions& options) {
    if (certify) return certify_values(model, x, y, p0, options);
    if (model.builtin != nullptr) return curve_fit(*model.builtin, x, y, p0, options);
    return curve_fit(model.formula, x, y, p0, options);
  };
}

// Completes the starting values from all rows, so that every policy has the same start. A guess from a sample
// would differ.
NamedValues with_guess(const ModelChoice& model, const FitData& data, const NamedValues& p0,
                       FitOptions options) {
  if (model.builtin == nullptr || p0.size() == model.formula.parameters.size()) return p0;
  options.max_iterations = 0;
  options.precision = PrecisionPolicy::all_f64();
  options.solve_linear_start = false;
  options.starts = 1;
  const FitResult start = curve_fit(*model.builtin, Columns(data.predictors), data.y, p0, options);
  NamedValues all;
  for (std::size_t j = 0; j < start.guess.size(); ++j)
    all.emplace_back(start.parameter_names[j], start.guess[j]);
  return all;
}

// Measures policies before the fit, for --optimize and --profile.
void measure_policies(const Arguments& arguments, const ModelChoice& model, const FitData& data,
                      const NamedValues& p0, FitOptions& options, FitReport& report) {
  if (!arguments.optimize && !arguments.profile) return;
  const NamedValues start = with_guess(model, data, p0, options);
  const FitFunction fit = fit_function(model, start);
  const Columns x(data.predictors);
  if (arguments.optimize) {
    report.optimized = optimize_policy(*arguments.optimize, fit, x, data.y, options);
    options.precision = report.optimized->policy;
    if (arguments.profile) report.profile = report.optimized->profile;
    return;
  }
  ProfileOptions profile;
  for (const PolicyAlias& alias : policy_aliases()) profile.policies.push_back(alias.make());
  profile.policies.push_back(arguments.precision);
  report.profile = profile_policies(fit, x, data.y, options, profile);
}

std::vector<std::string> collect_warnings(const FitData& data, const ModelChoice& model, const FitResult& fit,
                                          const NamedValues& p0) {
  std::vector<std::string> warnings = warnings_of(data, model);
  warnings.insert(warnings.end(), fit.warnings.begin(), fit.warnings.end());
  if (const std::string advice = advice_on_starts(model, fit, data.y, p0); !advice.empty())
    warnings.push_back(advice);
  return warnings;
}

void write_outputs(const FitReport& report) {
  const EndsAtOnce from_here;  // so that a signal need not wait until large files are read
  const Arguments& arguments = report.arguments;
  const bool stdout_taken =
      arguments.json == "-" || arguments.residuals == "-" || arguments.prediction.csv == "-";
  if (!arguments.quiet) {
    if (!stdout_taken) {
      write_stdout(text_report(report));
    } else {  // standard output has the data, so warnings go to stderr
      for (const std::string& warning : report.warnings)
        fmt::print(stderr, "nlsq-fit: warning: {}\n", warning);
      if (!report.fit.success()) fmt::print(stderr, "nlsq-fit: {}\n", report.fit.summary.message);
    }
  }
  if (!arguments.json.empty()) {
    OutputFile file(arguments.json);
    file.write(json_report(report));
    file.commit();
  }
  if (!arguments.residuals.empty()) write_residuals(report);
  write_prediction_csv(arguments, report.after);
}

int exit_status(const FitReport& report) {
  if (report.was_interrupted || report.after.interrupted) return kExitInterrupted;
  return report.fit.success() ? kExitConverged : kExitEnded;
}

}  // namespace

double FitReport::interval_dof() const {
  return arguments.absolute_sigma || arguments.loss.is_counts() ? std::numeric_limits<double>::infinity()
                                                                : static_cast<double>(fit.dof);
}

double FitReport::interval_factor() const { return student_t_quantile(arguments.confidence, interval_dof()); }

std::pair<double, double> FitReport::interval(std::size_t j) const {
  if (intervals) {
    for (const ProfileInterval& i : intervals->intervals) {
      if (i.parameter == fit.parameter_names[j]) return {i.lower, i.upper};
    }
  }
  const double half = interval_factor() * fit.standard_errors[j];
  return {fit.parameters[j] - half, fit.parameters[j] + half};
}

static std::optional<ComparedModels> compared(const Arguments& arguments, const NamedValues& p0,
                                              const FitData& data) {
  if (arguments.compare.models.empty()) return std::nullopt;
  return compare_models(arguments, p0, data, [&](const OneModel& one) {
    return fit_function(one.model, one.arguments.p0)(
        Columns(data.predictors), data.y, fit_options(one.arguments, data, one.model.formula.parameters));
  });
}

std::vector<std::string> inputs_of(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.files;
  for (const std::string& file : {arguments.p0_file, arguments.prediction.predict})
    if (!file.empty()) inputs.push_back(file);
  return inputs;
}

// Refuses outputs that would overwrite an input or each other.
static void check_all_outputs(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> outputs = {{"--json", arguments.json},
                                                              {"--residuals", arguments.residuals},
                                                              {"--csv", arguments.prediction.csv},
                                                              {"--checkpoint", arguments.checkpoint},
                                                              {"--report", arguments.plot.html}};
  for (const std::string& file : arguments.plot.files) outputs.emplace_back("--plot", file);
  check_outputs(inputs_of(arguments), outputs);
}

// Returns true if the fit is the first to read all rows, so that it can find the numbers that are not finite.
static bool fit_looks_first(const Arguments& a) {
  const Selection& s = a.selection;
  const bool several_fits = !a.compare.models.empty() || a.certify || a.optimize || a.profile;
  return !several_fits && a.checkpoint.empty() && s.range.empty() && s.sigma.empty() && s.sigma_x.empty();
}

// Returns true if the fit was stopped before it made all starts.
static bool starts_left(const FitResult& fit, const FitOptions& options) {
  int made = 0;
  for (const FitMinimum& minimum : fit.minima) made += minimum.starts;
  return options.starts > 1 && made < options.starts;
}

// Adds intervals, predictions and the other results that are computed from a fit.
static void add_what_follows(const FitOptions& options, PredictionPoints points, FitReport& report) {
  const Arguments& arguments = report.arguments;
  if (!report.was_interrupted) {
    run_checked(report.data, [&] {
      find_intervals(options, report);
      report.after = after_fit(arguments, report.model, report.data, options, std::move(points), report.fit,
                               report.warnings);
    });
  }
  if (!report.optimized || report.optimized->met) return;
  report.warnings.push_back(fmt::format("--optimize {}: no policy meets the target here; '{}' was chosen",
                                        arguments.optimize->to_string(), report.optimized->text));
}

int fit_command(const Arguments& given) {
  if (!given.image.maps.empty()) return image_command(given);
  if (may_have_groups(given.selection)) return group_command(given);
  const Stopwatch clock;
  // All errors of the command line are found before the data are read.
  const NamedValues given_p0 = starting_values(given);
  check_all_outputs(given);
  CsvOptions csv = given.csv;
  csv.threads = given.threads;
  std::optional<ProgressPart> part(std::in_place, "reading", bytes_of(given.files), true);
  Selection selection = given.selection;
  selection.check_later = fit_looks_first(given);
  InputData input = read_data(given.files, csv, selection, !given.json.empty());
  input.data.journal = open_checkpoint(given);
  const FitData& data = input.data;
  PredictionPoints points = read_points(given, data);
  if (!data.has_text && !points.has_text) refuse_options_of_text(csv, data.source);
  part.reset();
  const double read_seconds = clock.seconds();

  const std::optional<ComparedModels> others = compared(given, given_p0, data);
  const Arguments& arguments = others ? others->arguments : given;  // as they apply to the best model
  const NamedValues& p0 = others ? arguments.p0 : given_p0;
  const ModelChoice model = choose_model(arguments.model, data, names_given(arguments, p0));
  check_names(p0, arguments, model.formula);
  check_derived(arguments, model);
  FitOptions options = fit_options(arguments, data, model.formula.parameters);
  FitResult fit;
  FitReport report{arguments, data, model, fit, read_seconds};
  part.emplace("fitting");
  fit = run_checked(data, [&] {
    if (others) return *others->comparison.models.front().fit;
    measure_policies(arguments, model, data, p0, options, report);
    try {
      return fit_function(model, p0, arguments.certify)(Columns(data.predictors), data.y, options);
    } catch (const Error&) {
      check_after_failure(given.files, csv, selection, data);
      throw;
    }
  });
  if (arguments.certify && !fit.success() && fit.summary.termination != Termination::failure) {
    report.fitted_after =
        run_checked(data, [&] { return fit_function(model, p0)(Columns(data.predictors), data.y, options); });
    name_places(data, *report.fitted_after);
  }
  part.reset();
  if (!others) name_places(data, fit);  // otherwise compare_models() has done it
  report.files = describe_inputs(given.files, data.read, input.inputs);
  if (others) report.comparison = &others->comparison;
  // A fit that was stopped may end with another reason, such as lost parameters.
  const bool unfinished =
      !fit.success() || fit.summary.termination == Termination::user_stop || starts_left(fit, options);
  report.was_interrupted = (shall_stop() && unfinished) || (others && others->interrupted);
  report.warnings = collect_warnings(data, model, fit, p0);
  add_what_follows(options, std::move(points), report);
  report.total_seconds = clock.seconds();
  if (first_process()) {
    write_outputs(report);
    write_pictures(report, options);
  }
  return exit_status(report);
}

}  // namespace nlsq::cli

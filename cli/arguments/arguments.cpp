// Parses the text of each option into Arguments and rejects invalid values.
#include "arguments/arguments.hpp"

#include "arguments/model_choice.hpp"
#include "arguments/one_of.hpp"
#include "arguments/precision_options.hpp"
#include "arguments/raw_arguments.hpp"
#include "certify/certify_arguments.hpp"
#include "errors.hpp"
#include "groups/group_command.hpp"
#include "help/help.hpp"
#include "images/image_command.hpp"
#include "report/output_check.hpp"
#include "table/formula_words.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace nlsq::cli {

namespace {

double number(const std::string& option, const std::string& text) {
  double value = 0;
  if (parse_number(text, NumberFormat{}, value) != NumberStatus::ok) {
    const char* const gap = option.ends_with('=') ? "" : " ";
    const bool several = text.find('=') != std::string::npos;  // of name=value
    throw UsageError(fmt::format("{}{}{}: not a number{}", option, gap, printable(text),
                                 several ? "; separate values with commas, as in a=1,b=2" : ""));
  }
  return value;
}

double number_at_least(const std::string& option, const std::string& text, double least) {
  const double value = number(option, text);
  if (value < least) throw UsageError(fmt::format("{} {}: must be at least {}", option, text, least));
  return value;
}

std::size_t whole_number(const std::string& option, const std::string& text, double least, double most) {
  const double value = number(option, text);
  if (value != std::floor(value) || value < least || value > most) {
    throw UsageError(fmt::format("{} {}: must be a whole number from {} to {}", option, text, least, most));
  }
  return static_cast<std::size_t>(value);
}

// Parses a size such as 300M: a number, and K, M, G or T for powers of 1024.
std::uint64_t memory_size(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = kUnits.find(text.back());
  double value = 0;
  const std::string digits = unit == std::string_view::npos ? text : text.substr(0, text.size() - 1);
  const bool known = parse_number(digits, NumberFormat{}, value) == NumberStatus::ok;
  if (unit != std::string_view::npos) value *= std::ldexp(1.0, 10 * (static_cast<int>(unit) + 1));
  if (!known || !(value >= 0x1p20 && value <= 0x1p60))
    throw UsageError(
        fmt::format("--memory {}: give a size of at least 1M, as in 300M or 2G", printable(text)));
  return static_cast<std::uint64_t>(value);
}

// A separator must be one character that cannot be part of a number, a quote or a line ending.
char separator(const std::string& option, const std::string& text) {
  constexpr std::string_view kRefused = "0123456789+-\"\r\n";
  if (text.size() != 1 || kRefused.find(text[0]) != std::string_view::npos || (text[0] & 0x80) != 0 ||
      text[0] == '\0' || std::isalpha(static_cast<unsigned char>(text[0]))) {
    throw UsageError(fmt::format("{} '{}': must be one character, and no digit, letter, sign or quote",
                                 option, printable(text)));
  }
  return text[0];
}

char delimiter(const std::string& text) {
  if (text == "tab" || text == "\\t" || text == "\t") return '\t';
  if (text == "comma") return ',';
  if (text == "semicolon") return ';';
  if (text == "blanks" || text == "blank" || text == "space" || text == "whitespace" || text == " ")
    return kBlanks;
  try {
    return separator("--delimiter", text);
  } catch (const UsageError& e) {
    throw UsageError(std::string(e.what()) + "; or comma, semicolon, tab, blanks");
  }
}

CsvOptions csv_options(const RawArguments& raw) {
  CsvOptions csv;
  if (!raw.delimiter.empty()) csv.delimiter = delimiter(raw.delimiter);
  if (!raw.thousands.empty()) csv.number.thousands = separator("--thousands", raw.thousands);
  // Where points separate thousands, the decimal sign is a comma.
  const std::string decimal_text = raw.decimal.value_or(csv.number.thousands == '.' ? "," : ".");
  csv.number.decimal =
      one_of<char>("--decimal", decimal_text, {{".", '.'}, {",", ','}, {"point", '.'}, {"comma", ','}});
  csv.comment = raw.comment;
  csv.header = one_of<HeaderChoice>(
      "--header", raw.header,
      {{"auto", HeaderChoice::automatic}, {"yes", HeaderChoice::yes}, {"no", HeaderChoice::no}});
  csv.missing = one_of<MissingPolicy>("--missing", raw.missing,
                                      {{"error", MissingPolicy::error}, {"drop", MissingPolicy::drop}});
  if (!raw.skip.empty()) csv.skip = whole_number("--skip", raw.skip, 0, 1e9);
  if (!raw.max_line.empty()) csv.max_line = whole_number("--max-line", raw.max_line, 1, 1e12);
  const char decimal = csv.number.decimal;
  if (csv.delimiter == decimal || csv.number.thousands == decimal ||
      (csv.number.thousands != '\0' && csv.delimiter == csv.number.thousands)) {
    throw UsageError("--delimiter, --decimal and --thousands must be different characters");
  }
  return csv;
}

// Parses --p0: a=1,b=2 or @fit.json.
void add_p0(Arguments& arguments, const std::string& text) {
  if (text.starts_with('@')) {
    if (!arguments.p0_file.empty()) throw UsageError("--p0: give one @FILE");
    arguments.p0_file = text.substr(1);
    return;
  }
  for (const std::string& part : split_list(text)) {
    const std::size_t equals = part.find('=');
    const std::string name(trim_blanks(part.substr(0, equals)));
    if (equals == std::string::npos || !is_identifier(name)) {
      throw UsageError(
          fmt::format("--p0 {}: write name=value pairs, as in a=1,b=2, or @fit.json", printable(text)));
    }
    if (has_value(arguments.p0, name)) throw UsageError(fmt::format("--p0: {} is given twice", name));
    arguments.p0.emplace_back(name, number("--p0 " + name + "=", part.substr(equals + 1)));
  }
}

// Parses --fix: c=0 or c, separated by commas.
void add_fix(Arguments& arguments, const std::string& text) {
  for (const std::string& part : split_list(text)) {
    const std::size_t equals = part.find('=');
    const std::string name(trim_blanks(part.substr(0, equals)));
    if (!is_identifier(name)) {
      throw UsageError(
          fmt::format("--fix {}: write name=value, or a name to hold it at its guess", printable(text)));
    }
    arguments.fixed.push_back(name);
    if (equals == std::string::npos) continue;
    const double value = number("--fix " + name + "=", part.substr(equals + 1));
    if (has_value(arguments.p0, name))
      throw UsageError(fmt::format("--fix {}: --p0 gives it a value too", name));
    arguments.p0.emplace_back(name, value);
  }
}

// Parses --loss and --f-scale.
Loss loss(const RawArguments& raw) {
  try {
    const Loss named = Loss::named(raw.loss.value_or("linear"));
    if (!raw.f_scale) return named;
    if (!named.is_robust())
      throw UsageError(
          "--f-scale is the scale of a robust loss: give --loss soft_l1, huber, cauchy, arctan or tukey");
    return Loss::named(named.name(), number("--f-scale", *raw.f_scale));
  } catch (const Error& e) {
    throw UsageError(fmt::format("--loss: {}", e.what()));
  }
}

// Parses --bounds: a=0:10,b=:5, separated by commas. Either limit may be empty.
void add_bounds(Arguments& arguments, const std::string& text) {
  for (const std::string& part : split_list(text)) {
    const std::size_t equals = part.find('=');
    const std::string name(trim_blanks(part.substr(0, equals)));
    const std::string range = equals == std::string::npos ? "" : part.substr(equals + 1);
    const std::size_t colon = range.find(':');
    if (!is_identifier(name) || colon == std::string::npos) {
      throw UsageError(
          fmt::format("--bounds {}: write name=lower:upper, as in a=0:10,b=:5", printable(text)));
    }
    const auto side = [&](const std::string& given, double none) {
      return trim_blanks(given).empty() ? none
                                        : number("--bounds " + name + "=", std::string(trim_blanks(given)));
    };
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Arguments::Interval interval{name, side(range.substr(0, colon), -kInfinity),
                                       side(range.substr(colon + 1), kInfinity)};
    if (std::isinf(interval.lower) && std::isinf(interval.upper)) {
      throw UsageError(fmt::format("--bounds {}: neither side is given", printable(part)));
    }
    if (interval.lower > interval.upper) {
      throw UsageError(fmt::format("--bounds {}: the lower bound is above the upper one", printable(part)));
    }
    for (const auto& other : arguments.bounds) {
      if (other.name == name) throw UsageError(fmt::format("--bounds: {} is given twice", name));
    }
    arguments.bounds.push_back(interval);
  }
}

void take_numbers(Arguments& arguments, const RawArguments& raw) {
  if (!raw.ftol.empty()) arguments.ftol = number_at_least("--ftol", raw.ftol, 0);
  if (!raw.xtol.empty()) arguments.xtol = number_at_least("--xtol", raw.xtol, 0);
  if (!raw.gtol.empty()) arguments.gtol = number_at_least("--gtol", raw.gtol, 0);
  if (!raw.time_limit.empty()) {
    arguments.time_limit = number("--time-limit", raw.time_limit);
    if (!(*arguments.time_limit > 0)) throw UsageError("--time-limit: must be positive, in seconds");
  }
  if (!raw.strategy.empty())
    arguments.strategy = one_of<Algorithm>("--strategy", raw.strategy,
                                           {{"levenberg_marquardt", Algorithm::levenberg_marquardt},
                                            {"gauss_newton", Algorithm::gauss_newton},
                                            {"dogleg", Algorithm::dogleg}});
  if (!raw.nonmonotonic.empty())
    arguments.nonmonotonic = static_cast<int>(whole_number("--nonmonotonic", raw.nonmonotonic, 0, 1e6));
  if (!raw.max_iterations.empty()) {
    arguments.max_iterations = static_cast<int>(whole_number("--max-iterations", raw.max_iterations, 0, 1e9));
  }
  if (!raw.axis.empty()) {
    const double axis = number("--axis", raw.axis);
    if (axis != std::floor(axis) || std::fabs(axis) > 3)
      throw UsageError(fmt::format("--axis {}: must be a whole number from -3 to 2", printable(raw.axis)));
    arguments.image.axis = static_cast<int>(axis);
  }
  if (!raw.starts.empty()) arguments.starts = static_cast<int>(whole_number("--starts", raw.starts, 1, 1e6));
  if (!raw.seed.empty()) arguments.seed = whole_number("--seed", raw.seed, 0, 9007199254740992.0);
  if (!raw.threads.empty())
    arguments.threads = static_cast<int>(whole_number("--threads", raw.threads, 1, 4096));
  if (!raw.confidence.empty()) {
    arguments.confidence_given = true;
    const double c = arguments.confidence = number("--confidence", raw.confidence);
    const std::string hint = c > 1 && c < 100 ? fmt::format("; for {} % write {}", c, c / 100) : "";
    if (!(c > 0 && c < 1))
      throw UsageError(fmt::format("--confidence {}: must lie between 0 and 1{}", raw.confidence, hint));
  }
}

void check_checkpoint(const Arguments& arguments) {
  if (arguments.optimize || arguments.profile) {
    throw UsageError(
        "--checkpoint: --optimize and --profile measure times, which a repetition would not find again");
  }
  if (std::ranges::find(arguments.files, "-") != arguments.files.end())
    throw UsageError("--checkpoint: standard input cannot be read again; name a file");
}

void check(const Arguments& arguments) {
  if (arguments.files.empty()) throw UsageError("which file? give a table, or - for standard input");
  check_inputs(arguments.files);
  if (arguments.absolute_sigma && arguments.selection.sigma.empty()) {
    throw UsageError("--absolute-sigma needs --sigma");
  }
  if (!arguments.selection.sigma_x.empty() && arguments.selection.sigma.empty()) {
    throw UsageError("--sigma-x needs --sigma: errors in x are weighed against those in y");
  }
  if (arguments.loss.is_counts() && !arguments.selection.sigma.empty()) {
    throw UsageError(
        "--loss poisson: the standard deviation of a count is the root of the model; leave --sigma out");
  }
  if (arguments.seed && !arguments.starts && arguments.prediction.bootstrap == 0)
    throw UsageError("--seed needs --starts or --bootstrap");
  if (arguments.resume && arguments.checkpoint.empty())
    throw UsageError("--resume needs --checkpoint, which names the file to go on from");
  if (!arguments.checkpoint.empty()) check_checkpoint(arguments);
  if (arguments.json == "-" && arguments.residuals == "-") {
    throw UsageError("--json - and --residuals - cannot share standard output");
  }
  const bool numbers_on_stdout =
      arguments.json == "-" || arguments.residuals == "-" || arguments.prediction.csv == "-";
  if (arguments.plot.to_stdout() && numbers_on_stdout)
    throw UsageError("--plot - cannot share standard output with --json -, --residuals - or --csv -");
}

std::vector<std::string> shared_parameters(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    for (const std::string& name : split_list(text)) {
      if (name.empty()) throw UsageError(fmt::format("--share {}: give names, as in tau,c", text));
      if (std::ranges::find(names, name) != names.end())
        throw UsageError(fmt::format("--share: {} is named twice", name));
      names.push_back(name);
    }
  }
  return names;
}

void declare_options(CLI::App& app, RawArguments& raw, Arguments& arguments) {
  add_help_options(app, raw.man, raw.completion);
  add_data_options(app, raw, arguments);
  add_fit_options(app, raw, arguments);
  add_compare_options(app, arguments.compare);
  add_certify_options(app, arguments.certify);
  add_prediction_options(app, raw.prediction);
  add_plot_options(app, arguments.plot);
  app.add_flag("--list-models", raw.list_models, "list the built-in models (with --json -: as JSON)");
  app.add_option("--describe", arguments.described, "describe a built-in model")->type_name("NAME");
  app.add_flag("--version", raw.version, "version, kernels and libraries");
}

// Reads the words of the command line into `raw` and `arguments`, and finds what to do.
void parse_words(CLI::App& app, int argc, const char* const* argv, const RawArguments& raw,
                 Arguments& arguments) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.action = Action::help;
    arguments.help_text = help_text(app, argc, argv);
    return;
  } catch (const CLI::ExtrasError& e) {
    throw UsageError(e.what() + suggest_option(app));
  } catch (const CLI::ArgumentMismatch& e) {
    throw UsageError(wrong_count(app, e.what()));
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  refuse_empty_values(app);
  if (raw.man || !raw.completion.empty()) {
    arguments.action = Action::help;
    arguments.help_text = document(app, raw.completion);
  } else if (raw.version) {
    arguments.action = Action::version;
  } else if (raw.list_models) {
    arguments.action = Action::list_models;
  } else if (!arguments.described.empty()) {
    arguments.action = Action::describe_model;
  }
}

// Converts the texts of the options of a fit.
void convert_texts(const RawArguments& raw, Arguments& arguments) {
  arguments.files = raw.files;
  arguments.csv = csv_options(raw);
  if (!raw.memory.empty()) arguments.memory = memory_size(raw.memory);
  for (const std::string& text : raw.p0) add_p0(arguments, text);
  for (const std::string& text : raw.fix) add_fix(arguments, text);
  arguments.share = shared_parameters(raw.share);
  arguments.loss = loss(raw);
  arguments.variable_projection = one_of<VariableProjection>("--variable-projection", raw.variable_projection,
                                                             {{"auto", VariableProjection::automatic},
                                                              {"on", VariableProjection::on},
                                                              {"off", VariableProjection::off}});
  for (const std::string& text : raw.bounds) add_bounds(arguments, text);
  take_numbers(arguments, raw);
  arguments.profile_intervals =
      one_of<bool>("--intervals", raw.intervals, {{"standard", false}, {"profile", true}});
  arguments.progress = one_of<ProgressChoice>(
      "--progress", raw.progress,
      {{"auto", ProgressChoice::automatic}, {"on", ProgressChoice::on}, {"off", ProgressChoice::off}});
  if (arguments.profile_intervals && arguments.loss.is_robust()) {
    throw UsageError("--intervals profile: a robust loss is no likelihood; leave --loss or --intervals out");
  }
  arguments.precision_given = raw.precision.has_value() || !raw.rules.empty();
  arguments.precision = precision_policy(raw.precision.value_or("auto"), raw.rules);
  if (raw.optimize)
    arguments.optimize = precision_objective(*raw.optimize, raw.precision.has_value(), !raw.rules.empty());
  arguments.prediction = prediction_arguments(raw.prediction, arguments);
}

}  // namespace

bool has_value(const std::vector<std::pair<std::string, double>>& values, std::string_view name) {
  return std::ranges::any_of(values, [&](const auto& value) { return value.first == name; });
}

Arguments parse_arguments(int argc, const char* const* argv) {
  CLI::App app("Fits a curve to a table: nonlinear least squares, certified in float64.", "nlsq-fit");
  Arguments arguments;
  RawArguments raw;
  declare_options(app, raw, arguments);
  parse_words(app, argc, argv, raw, arguments);
  if (arguments.action != Action::fit) return arguments;
  convert_texts(raw, arguments);
  if (arguments.model.empty())
    arguments.model = take_model_among(arguments.files, !arguments.compare.text.empty());
  take_compare(arguments);
  check_certify(arguments);
  arguments.selection.absolute_sigma = arguments.absolute_sigma;
  check(arguments);
  check_group_arguments(arguments);
  check_image_arguments(arguments);
  check_plot_options(arguments.plot);
  arguments.command = shell_command(argc, argv);
  arguments.words.assign(argv + 1, argv + argc);
  return arguments;
}

}  // namespace nlsq::cli

// Parses the options for results after a fit, and rejects combinations that have no meaning.
#include "prediction/prediction_arguments.hpp"

#include "arguments/arguments.hpp"
#include "arguments/one_of.hpp"
#include "errors.hpp"
#include "table/column_expression.hpp"
#include "table/numbers/number.hpp"
#include "table/source/byte_source.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <cmath>

namespace nlsq::cli {

namespace {

constexpr double kMostGridPoints = 1e8;
constexpr double kMostSamples = 1e7;

bool is_number(std::string_view text, double& value) {
  return parse_number(trim_blanks(text), NumberFormat{}, value) == NumberStatus::ok;
}

// Refuses a list of numbers, as in 10,inf, one of which is not finite. Any other text may be a file.
void refuse_infinite(const std::string& text) {
  std::string found;
  for (const std::string& part : split_list(text)) {
    double value = 0;
    const NumberStatus status = parse_number(part, NumberFormat{}, value);
    const bool is_nan = part == "nan" || part == "NaN" || part == "NAN";
    if (status == NumberStatus::infinite || status == NumberStatus::overflow || is_nan) {
      if (found.empty()) found = part;
    } else if (status != NumberStatus::ok && status != NumberStatus::underflow) {
      return;
    }
  }
  if (!found.empty())
    throw UsageError(
        fmt::format("--predict {}: {} is not a finite number; give values of x", printable(text), found));
}

BootstrapMethod bootstrap_method(const std::string& text) {
  return one_of<BootstrapMethod>("--bootstrap-method", text,
                                 {{"residual", BootstrapMethod::residual},
                                  {"case", BootstrapMethod::cases},
                                  {"parametric", BootstrapMethod::parametric}});
}

int sample_count(const std::string& text) {
  double count = 0;
  if (!is_number(text, count) || count != std::floor(count) || count < 2 || count > kMostSamples) {
    throw UsageError(fmt::format("--bootstrap {}: must be a whole number of samples, from 2 to {:g}",
                                 printable(text), kMostSamples));
  }
  return static_cast<int>(count);
}

void check_band(const std::string& band, const PredictionArguments& out, const Arguments& arguments) {
  if (band != "standard" && band != "profile")
    throw UsageError(fmt::format("--band {}: must be one of standard, profile", printable(band)));
  if (!out.profile_band) return;
  if (out.predict.empty()) throw UsageError("--band needs --predict");
  if (arguments.loss.is_robust())
    throw UsageError("--band profile: a robust loss is no likelihood; leave --loss or --band out");
  if (arguments.loss.is_counts())
    throw UsageError("--band profile: not available for counts; use --band standard, or --bootstrap");
  if (!arguments.selection.sigma_x.empty())
    throw UsageError(
        "--band profile: not available with errors in x; use --band standard, or --bootstrap with "
        "--bootstrap-method case");
}

void check_outputs(const PredictionArguments& out, const Arguments& arguments) {
  if (!out.csv.empty() && out.predict.empty() && !may_have_groups(arguments.selection)) {
    throw UsageError(
        "--csv writes predictions, or a table of groups: it needs --predict, --group-by or several --y");
  }
  if (out.csv == "-" && (arguments.json == "-" || arguments.residuals == "-")) {
    throw UsageError(fmt::format("{} - and --csv - cannot share standard output",
                                 arguments.json == "-" ? "--json" : "--residuals"));
  }
  if (out.predict == "-" && std::ranges::find(arguments.files, "-") != arguments.files.end())
    throw UsageError("--predict -: standard input already has the data; give a file");
}

// Refuses texts such as 0:10, which is no grid and hardly a file, unless a file has that name.
void refuse_half_grid(const std::string& text, const char* option) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || file_exists(text)) return;
  const std::string_view first = std::string_view(text).substr(0, colon);
  std::string_view second = std::string_view(text).substr(colon + 1);
  second = second.substr(0, second.find(':'));
  double value = 0;
  for (const std::string_view part : {first, second}) {
    if (!trim_blanks(part).empty() && !is_number(part, value) && !parse_moment(part)) return;
  }
  throw UsageError(fmt::format("{} {}: for N points from A to B write A:B:N, as in 0:10:100", option, text));
}

}  // namespace

std::optional<Grid> grid_of(const std::string& text, const char* option) {
  const std::string_view all(text);
  const std::size_t last = all.rfind(':');
  double count = 0;
  const bool has_count = last != std::string_view::npos && is_number(all.substr(last + 1), count);
  const std::optional<XLimits> limits = has_count ? split_limits(all.substr(0, last)) : std::nullopt;
  if (!limits || !limits->first || !limits->second) {
    refuse_half_grid(text, option);
    return std::nullopt;
  }
  if (count != std::floor(count) || count < 2 || count > kMostGridPoints) {
    throw UsageError(fmt::format("{} {}: the number of points must be a whole number from 2 to {:g}", option,
                                 text, kMostGridPoints));
  }
  if (!is_below(*limits->first, *limits->second))
    throw UsageError(fmt::format("{} {}: the first x must be below the second", option, text));
  return Grid{*limits->first, *limits->second, static_cast<std::size_t>(count)};
}

void add_prediction_options(CLI::App& app, RawPrediction& raw) {
  const std::string group = "Output";
  app.add_option("--predict", raw.predict,
                 "the curve and its bands at some x, at those of a table, or at N from A to B")
      ->type_name("X,...|FILE|A:B:N")
      ->group(group);
  app.add_option("--band", raw.band,
                 "confidence band by standard errors or profile likelihood (default standard)")
      ->type_name("standard|profile")
      ->group(group);
  app.add_option("--csv", raw.csv, "write predictions, or the table of groups, as CSV to a file, or -")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--derive", raw.derive,
                 "a quantity of the parameters: 'half_life=log(2)/b'; may be repeated")
      ->type_name("NAME=EXPR")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--bootstrap", raw.bootstrap,
                 "fit so many resampled data sets: errors and percentile intervals")
      ->type_name("SAMPLES")
      ->group(group);
  app.add_option("--bootstrap-method", raw.method, "what is resampled (default residual)")
      ->type_name("residual|case|parametric")
      ->group(group);
}

PredictionArguments prediction_arguments(const RawPrediction& raw, const Arguments& arguments) {
  PredictionArguments out;
  out.predict = raw.predict;
  out.time = parse_moment(raw.predict);
  // 09:30 alone is a time. 10:20:30 is one or a grid, and the data show which.
  const bool short_time = out.time && std::ranges::count(raw.predict, ':') < 2;
  if (!short_time) out.grid = grid_of(raw.predict, "--predict");
  if (!out.grid && !raw.predict.empty() && !file_exists(raw.predict)) {
    refuse_infinite(raw.predict);
    out.list = limits_in(raw.predict).value_or(std::vector<XLimit>());
  }
  out.profile_band = raw.band == "profile";
  out.csv = raw.csv;
  out.derive = raw.derive;
  if (!raw.bootstrap.empty()) out.bootstrap = sample_count(raw.bootstrap);
  if (!raw.method.empty()) {
    if (out.bootstrap == 0) throw UsageError("--bootstrap-method needs --bootstrap");
    out.method = bootstrap_method(raw.method);
  }
  check_band(raw.band, out, arguments);
  check_outputs(out, arguments);
  return out;
}

}  // namespace nlsq::cli

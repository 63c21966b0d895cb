// Implements PlotData: chooses the rows to draw and their scales.
#include "plot/plot_data.hpp"

#include "plot/curve.hpp"
#include "plot/normal_quantiles.hpp"
#include "plot/row_errors.hpp"
#include "report/components.hpp"
#include "report/report.hpp"
#include "table/block_evaluator.hpp"
#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <nlsq/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMostCurvePoints = 2000;
// The most decades that an axis may span to be made logarithmic automatically. A peak or a decay without
// noise falls to numbers that mean nothing; such a y stays linear.
constexpr double kMostDecadesX = 300, kMostDecadesY = 12;

// The values of all rows, before some are chosen.
struct AllRows {
  std::vector<double> x, y, fit;
};

AllRows all_rows(const FitReport& report) {
  const FitData& data = report.data;
  const Formula& formula = report.model.formula;
  AllRows rows{std::vector<double>(data.rows()), std::vector<double>(data.rows()),
               std::vector<double>(data.rows())};
  std::vector<Column> columns = data.predictors;
  evaluate_rows(formula, columns, report.fit.parameters, rows.fit);
  columns.push_back(data.y);
  evaluate_response_rows(formula, columns, rows.y);
  if (data.predictors.size() == 1) data.predictors[0].read(0, data.rows(), rows.x.data());
  else rows.x = rows.fit;
  return rows;
}

std::string response_label(const FitReport& report) {
  const Formula& formula = report.model.formula;
  const std::string column = column_title(report.data.shape, report.data.y_expression);
  if (!formula.has_left_side) return column;
  const std::string left(trim_blanks(formula.text.substr(0, formula.text.find('='))));
  return left == column ? column : left;
}

void choose_labels(const FitReport& report, PlotData& plot) {
  plot.y_label = printable(response_label(report), 200);
  plot.x_label = plot.against_fit ? "fitted " + plot.y_label
                                  : printable(column_title(report.data.shape, report.data.x[0]), 200);
  plot.residual_label = report.fit.loss.is_counts() ? "residual / √fit"
                        : report.data.sigma.empty() ? "residual"
                                                    : "residual / sigma";
  plot.model = printable(report.model.formula.text, 400);
  if (report.model.builtin != nullptr) plot.model = report.model.builtin->name + ": " + plot.model;
}

// Returns every stride-th value, or none if `all` is empty.
std::vector<double> thinned(const std::vector<double>& all, std::size_t stride) {
  std::vector<double> some;
  for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

// Returns "2nd", "13th", "21st".
std::string ordinal(std::size_t n) {
  const bool teens = n / 10 % 10 == 1;
  const char* const ending = teens         ? "th"
                             : n % 10 == 1 ? "st"
                             : n % 10 == 2 ? "nd"
                             : n % 10 == 3 ? "rd"
                                           : "th";
  return fmt::format("{}{}", n, ending);
}

void choose_rows(const AllRows& rows, const RowErrors& errors, std::size_t most_points, PlotData& plot) {
  plot.rows = rows.y.size();
  plot.stride = (plot.rows + most_points - 1) / most_points;
  plot.points = {thinned(rows.x, plot.stride),         thinned(rows.y, plot.stride),
                 thinned(rows.fit, plot.stride),       thinned(errors.residual, plot.stride),
                 thinned(errors.x_error, plot.stride), thinned(errors.y_error, plot.stride)};
  if (plot.stride > 1)
    plot.notes.push_back(fmt::format("every {} of {} rows is drawn", ordinal(plot.stride), plot.rows));
  if (plot.points.size() > kMostErrorBars && !plot.points.y_error.empty()) {
    plot.points.x_error.clear();
    plot.points.y_error.clear();
    plot.notes.push_back(fmt::format("no error bars above {} rows", kMostErrorBars));
  }
}

void include_error_bars(const std::vector<double>& values, const std::vector<double>& errors, Axis& axis) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!axis.log) include(axis, values[i] - errors[i]);
    include(axis, values[i] + errors[i]);
  }
}

// Returns true if an axis is logarithmic. The user decides, otherwise the data do (asks_for_log()). Without a
// positive value it stays linear.
bool choose_log(const std::vector<double>& values, const char* axis, bool wanted, bool automatic,
                double most_decades, PlotData& plot) {
  if (automatic) return asks_for_log(values, most_decades);
  if (!wanted) return false;
  const auto hidden = std::count_if(values.begin(), values.end(), [](double value) { return !(value > 0); });
  if (static_cast<std::size_t>(hidden) == values.size()) {
    plot.notes.push_back(fmt::format("{} is linear: no value is positive", axis));
    return false;
  }
  if (hidden > 0) plot.notes.push_back(fmt::format("{} rows with {} <= 0 are not shown", hidden, axis));
  return true;
}

// Sets the axes. They hold all rows, those that are not drawn included, and the error bars.
void choose_axes(const FitReport& report, const AllRows& rows, const RowErrors& errors, PlotData& plot) {
  const PlotScale scale = report.arguments.plot.scale;
  const bool automatic = scale == PlotScale::automatic, both = scale == PlotScale::log_log;
  const bool log_y =
      choose_log(rows.y, "y", both || scale == PlotScale::log_y, automatic, kMostDecadesY, plot);
  // Fitted and observed values have the same kind of axis.
  const bool wanted_x = plot.against_fit ? log_y : both || scale == PlotScale::log_x;
  const bool log_x = choose_log(rows.x, "x", wanted_x, automatic && !plot.against_fit, kMostDecadesX, plot);
  plot.x = axis_for(rows.x, log_x);
  plot.y = axis_for(rows.y, log_y);
  plot.residual = axis_for(errors.residual, false);
  include(plot.residual, 0);
  include_error_bars(plot.points.x, plot.points.x_error, plot.x);
  include_error_bars(plot.points.y, plot.points.y_error, plot.y);
}

// Returns the smallest and the largest value that an axis can show.
std::pair<double, double> range_of(const std::vector<double>& values, const Axis& axis) {
  double low = std::nan(""), high = std::nan("");
  for (const double value : values) {
    if (!std::isfinite(value) || (axis.log && !(value > 0))) continue;
    low = std::fmin(low, value);
    high = std::fmax(high, value);
  }
  return {low, high};
}

void draw_curve(const FitReport& report, const AllRows& rows, PlotData& plot) {
  const auto model = [&](const std::vector<double>& x) {
    std::vector<double> values(x.size());
    const std::vector<Column> columns = {Column(x)};
    evaluate_rows(report.model.formula, columns, report.fit.parameters, values);
    return values;
  };
  const auto [low, high] = range_of(rows.x, plot.x);
  CurvePoints points =
      curve_points(model, low, high, plot.points.x, plot.x.log, plot.y.log, kMostCurvePoints);
  plot.curve.x = std::move(points.x);
  plot.curve.fit = std::move(points.y);
}

void draw_components(const FitReport& report, PlotData& plot) {
  const double constant = shared_constant(report);
  std::vector<Component> components = components_at(report, {Column(plot.curve.x)});
  if (components.size() < 2) return;
  for (Component& component : components) {
    for (double& value : component.values) value += constant;
    plot.components.push_back({component.label + ": " + component.model, std::move(component.values)});
  }
}

// The axis grows with a curve, but on each side by no more than the height of the data: a curve or a band far
// from the data would hide them.
void include_curve(const std::vector<double>& values, const Axis& data, PlotData& plot) {
  Axis wide = plot.y;
  for (const double value : values) include(wide, value);
  const double height = data.log ? data.high / data.low : data.high - data.low;
  const double low = data.log ? data.low / height : data.low - height;
  const double high = data.log ? data.high * height : data.high + height;
  plot.y.low = std::max(wide.low, std::min(low, plot.y.low));
  plot.y.high = std::min(wide.high, std::max(high, plot.y.high));
}

void add_band(const FitReport& report, const FitOptions& options, PlotData& plot) {
  PredictionOptions wanted;
  wanted.confidence = report.arguments.confidence;
  wanted.threads = options.threads;
  const Columns x(std::vector<Column>{Column(plot.curve.x)});
  const Prediction band = predict(report.model.prepared(), x, report.fit, options, wanted);
  const auto defined = [](double value) { return std::isfinite(value); };
  if (std::none_of(band.confidence_low.begin(), band.confidence_low.end(), defined)) {
    plot.notes.emplace_back("the data define no confidence band");
    return;
  }
  plot.curve.low = band.confidence_low;
  plot.curve.high = band.confidence_high;
  plot.band_title = fmt::format("{:g} % confidence band", 100 * wanted.confidence);
}

// Draws the line on which observed against fitted values lie. With several predictors there is no curve over
// one axis.
void draw_identity(const AllRows& rows, PlotData& plot) {
  const auto [low, high] = range_of(rows.fit, plot.x);
  plot.curve.x = plot.curve.fit = {low, high};
}

// Returns the standard deviation of the residuals, or 0 if they are only rounding, as those of exact data
// are.
double scatter_of(const FitReport& report, const std::vector<double>& y) {
  const double scatter = standard_scatter(report);
  if (!report.data.sigma.empty() || report.fit.loss.is_counts()) return scatter;
  double largest = 0;
  for (const double value : y) largest = std::max(largest, std::fabs(value));
  return scatter > 1e-13 * largest ? scatter : 0;
}

std::string parameter_value(const FitReport& report, std::size_t j) {
  const FitResult& fit = report.fit;
  const double value = fit.parameters[j], error = fit.standard_errors[j];
  if (fit.fixed[j]) return fmt::format("{:.6g} (fixed)", value);
  if (fit.at_bound[j]) return fmt::format("{:.6g} (at bound)", value);
  if (std::isnan(error)) return fmt::format("{:.6g} ({})", value, missing_error(fit));
  return fmt::format("{} ± {:.3g}", format_estimate(value, error), error);
}

}  // namespace

PlotData plot_data(const FitReport& report, const FitOptions& options, std::size_t most_points) {
  PlotData plot;
  plot.against_fit = report.data.predictors.size() != 1;
  choose_labels(report, plot);
  const AllRows rows = all_rows(report);
  const RowErrors errors = row_errors(report, rows.y, rows.fit);
  choose_rows(rows, errors, most_points, plot);
  choose_axes(report, rows, errors, plot);
  if (plot.against_fit) {
    draw_identity(rows, plot);
  } else {
    draw_curve(report, rows, plot);
    draw_components(report, plot);
    add_band(report, options, plot);
    const Axis data = plot.y;
    for (const auto* const values : {&plot.curve.fit, &plot.curve.low, &plot.curve.high})
      include_curve(*values, data, plot);
    for (const PlotComponent& component : plot.components) include_curve(component.y, data, plot);
  }
  plot.quantiles = normal_quantiles(errors.residual, scatter_of(report, rows.y));
  if (plot.quantiles.normal.empty()) {
    plot.no_quantiles = report.fit.dof <= 0                             ? "no degrees of freedom"
                        : report.fit.summary.verdict == Verdict::failed ? "nothing was fitted"
                                                                        : "residuals do not scatter";
    plot.notes.push_back("no quantiles: " + plot.no_quantiles);
  }
  return plot;
}

std::vector<ParameterLine> parameter_lines(const FitReport& report) {
  std::vector<ParameterLine> lines;
  for (std::size_t j = 0; j < report.fit.parameters.size(); ++j)
    lines.push_back({report.fit.parameter_names[j], parameter_value(report, j)});
  return lines;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (count_code_points(text) <= most) return text;
  std::size_t bytes = 0;
  for (std::size_t points = 0; bytes < text.size(); ++bytes) {
    const bool starts = (text[bytes] & 0xC0) != 0x80;
    if (starts && ++points == most) break;
  }
  return text.substr(0, bytes) + "…";
}

}  // namespace nlsq::cli

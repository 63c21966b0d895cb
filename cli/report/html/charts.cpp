// Implements the pictures of the HTML report.
#include "report/html/charts.hpp"

#include "report/html/html_text.hpp"
#include "report/html/svg_chart.hpp"

#include <nlsq/scheduler.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace nlsq::cli {

namespace {

// Returns the class of points. The more points there are, the smaller they are.
const char* point_style(std::size_t points) {
  return points <= 100 ? "data" : points <= 600 ? "data small" : "data tiny";
}

// Returns the class of the line of term k of a sum of models. There are four colours.
const char* component_style(std::size_t k) {
  constexpr std::array kStyles = {"component c1", "component c2", "component c3", "component c4"};
  return kStyles[k % kStyles.size()];
}

constexpr int kResidualTicks = 4;

// Returns the left edge that the charts of data and residuals have in common, because they share the x axis.
double shared_left(const PlotData& plot) {
  return std::max(left_for(plot.y, ChartLayout{}.y_ticks), left_for(plot.residual, kResidualTicks));
}

std::string key(std::string_view style, std::string_view what) {
  return fmt::format(
      "<span class=\"key\"><svg viewBox=\"0 0 24 10\" aria-hidden=\"true\"><path class=\"{}\" "
      "d=\"{}\"/></svg>{}</span>\n",
      style,
      style.starts_with("band")                            ? "M1 1H23V9H1Z"
      : style == "curve" || style.starts_with("component") ? "M1 5H23"
                                                           : "M12 5h0",
      escaped(what));
}

// Names the formats of a line of the trace, and whether it used a sample of the rows.
std::string trace_group(const IterationSummary& line, std::size_t rows) {
  return short_name(line.plan) + (line.rows < rows ? ", a sample of the rows" : "");
}

// Returns the layout of charts that stand side by side.
ChartLayout small_layout(const char* title, const char* x_label, const char* y_label, const Axis& y) {
  ChartLayout layout;
  layout.width = 420;
  layout.height = 320;
  layout.left = left_for(y, layout.y_ticks);
  layout.title = title;
  layout.x_ticks = 6;
  layout.x_label = x_label;
  layout.y_label = y_label;
  return layout;
}

}  // namespace

std::string fit_chart(const PlotData& plot) {
  ChartLayout layout;
  layout.left = shared_left(plot);
  layout.x_numbers = false;
  layout.title = "Data and fitted curve";
  layout.y_label = plot.y_label;
  SvgChart chart(plot.x, plot.y, layout);
  const PlotPoints& p = plot.points;
  const PlotCurve& curve = plot.curve;
  const char* const style = point_style(p.size());
  if (!curve.low.empty()) chart.add_band(curve.x, curve.low, curve.high, "band");
  if (!p.x_error.empty()) chart.add_x_error_bars(p.x, p.y, p.x_error, "bars");
  if (!p.y_error.empty()) chart.add_error_bars(p.x, p.y, p.y_error, "bars");
  chart.add_points(p.x, p.y, style);
  for (std::size_t k = 0; k < plot.components.size(); ++k)
    chart.add_line(curve.x, plot.components[k].y, component_style(k));
  chart.add_line(curve.x, curve.fit, "curve");
  std::string keys = key("data", p.y_error.empty() ? "data" : "data ± sigma");
  keys += key("curve", plot.against_fit ? "observed = fitted" : "fit");
  if (!curve.low.empty()) keys += key("band", plot.band_title);
  for (std::size_t k = 0; k < plot.components.size(); ++k)
    keys += key(component_style(k), plot.components[k].title);
  return "<p class=\"keys\">" + keys + "</p>\n" + chart.svg();
}

std::string residual_chart(const PlotData& plot) {
  ChartLayout layout;
  layout.left = shared_left(plot);
  layout.height = 190;
  layout.y_ticks = kResidualTicks;
  layout.title = "Residuals";
  layout.x_label = plot.x_label;
  layout.y_label = plot.residual_label;
  SvgChart chart(plot.x, plot.residual, layout);
  chart.add_level(0, "level");
  chart.add_points(plot.points.x, plot.points.residual, point_style(plot.points.size()));
  return chart.svg();
}

std::string quantile_chart(const PlotData& plot) {
  const NormalQuantiles& q = plot.quantiles;
  if (q.normal.empty()) return "";
  const Axis x = axis_for(q.normal, false);
  Axis y = axis_for(q.residual, false);
  include(y, x.low);
  include(y, x.high);
  const ChartLayout layout =
      small_layout("Normal Q-Q picture of the residuals", "normal quantile", "standardized residual", y);
  SvgChart chart(x, y, layout);
  chart.add_line({x.low, x.high}, {x.low, x.high}, "level");
  chart.add_points(q.normal, q.residual, point_style(q.normal.size()));
  return chart.svg();
}

// Passes over samples have smaller costs than those over all rows, so the cost is divided by the rows.
std::string trace_chart(const FitReport& report) {
  const std::vector<IterationSummary>& trace = report.fit.summary.iterations;
  if (trace.empty()) return "";
  std::vector<double> step, cost;
  std::vector<std::string> groups;
  for (const IterationSummary& line : trace) {
    step.push_back(static_cast<double>(step.size()));
    cost.push_back(line.rows > 0 ? line.cost / static_cast<double>(line.rows) : std::nan(""));
    const std::string group = trace_group(line, report.fit.rows);
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  const auto [low, high] = std::minmax_element(cost.begin(), cost.end());
  const Axis y = axis_for(cost, *low > 0 && *high > 10 * *low);
  ChartLayout layout = small_layout("Cost by iteration", "line of the trace", "cost per row", y);
  layout.x_ticks = static_cast<int>(std::min<std::size_t>(trace.size(), 6));  // none at half a line
  SvgChart chart(axis_for(step, false), y, layout);
  chart.add_line(step, cost, "path");
  std::string keys;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<double> x, of_group;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (trace_group(trace[i], report.fit.rows) != groups[g]) continue;
      x.push_back(step[i]);
      of_group.push_back(cost[i]);
    }
    const std::string style = fmt::format("data group{}", g % 6);
    chart.add_points(x, of_group, style);
    keys += key(style, groups[g]);
  }
  return "<p class=\"keys\">" + keys + "</p>\n" + chart.svg();
}

}  // namespace nlsq::cli

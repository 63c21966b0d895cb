// Implements the Vega-Lite specification: two or three panels, as in the other pictures, over named data
// sets.
#include "plot/vega_lite.hpp"

#include "report/json_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr const char* kFit = "#c05621";
constexpr const char* kPoint = "#1a365d";

std::string vega_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

// A field has a name and a value for each point. Fields without values are left out.
using Field = std::pair<const char*, std::vector<double>>;

// Writes a data set as "name": [{"x": 1, ...}, ...]. A value that is not a number becomes null; Vega-Lite
// interrupts a line there.
std::string data_set(const std::string& name, const std::vector<Field>& fields) {
  std::string out = fmt::format("    {}: [", json_text(name));
  for (std::size_t i = 0; i < fields.front().second.size(); ++i) {
    out += i == 0 ? "\n      {" : ",\n      {";
    const char* between = "";
    for (const auto& [field, values] : fields) {
      if (values.empty()) continue;
      out += fmt::format("{}\"{}\": {}", between, field, vega_number(values[i]));
      between = ", ";
    }
    out += '}';
  }
  return out + "\n    ]";
}

// Returns the ends of error bars.
std::vector<double> beside(const std::vector<double>& values, const std::vector<double>& errors,
                           double sign) {
  std::vector<double> out;
  for (std::size_t i = 0; i < errors.size(); ++i) out.push_back(values[i] + sign * errors[i]);
  return out;
}

std::string data_sets(const PlotData& plot) {
  const PlotPoints& p = plot.points;
  const PlotCurve& c = plot.curve;
  std::vector<std::string> sets;
  sets.push_back(data_set("points", {{"x", p.x},
                                     {"y", p.y},
                                     {"fit", p.fit},
                                     {"residual", p.residual},
                                     {"x_low", beside(p.x, p.x_error, -1)},
                                     {"x_high", beside(p.x, p.x_error, 1)},
                                     {"y_low", beside(p.y, p.y_error, -1)},
                                     {"y_high", beside(p.y, p.y_error, 1)}}));
  sets.push_back(data_set("curve", {{"x", c.x}, {"fit", c.fit}, {"low", c.low}, {"high", c.high}}));
  for (std::size_t k = 0; k < plot.components.size(); ++k)
    sets.push_back(data_set(fmt::format("component{}", k + 1), {{"x", c.x}, {"y", plot.components[k].y}}));
  if (!plot.quantiles.normal.empty()) {
    sets.push_back(
        data_set("quantiles", {{"normal", plot.quantiles.normal}, {"residual", plot.quantiles.residual}}));
  }
  return fmt::format("  \"datasets\": {{\n{}\n  }}", fmt::join(sets, ",\n"));
}

// Returns the position channel `channel` of a field. All layers of a panel have the same title and scale.
std::string channel(const char* name, const char* field, const std::string& title, const Axis& axis) {
  return fmt::format(
      "\"{}\": {{\"field\": \"{}\", \"type\": \"quantitative\", \"title\": {}, \"scale\": {{\"type\": "
      "\"{}\", "
      "\"domain\": [{}, {}], \"nice\": false, \"zero\": false}}}}",
      name, field, json_text(title), axis.log ? "log" : "linear", vega_number(axis.low),
      vega_number(axis.high));
}

std::string layer(const std::string& data, const std::string& mark,
                  const std::vector<std::string>& encoding) {
  return fmt::format("        {{\"data\": {{\"name\": \"{}\"}}, \"mark\": {{{}}}, \"encoding\": {{{}}}}}",
                     data, mark, fmt::join(encoding, ", "));
}

std::string tooltip(std::initializer_list<const char*> fields) {
  std::vector<std::string> list;
  for (const char* field : fields)
    list.push_back(fmt::format("{{\"field\": \"{}\", \"type\": \"quantitative\"}}", field));
  return fmt::format("\"tooltip\": [{}]", fmt::join(list, ", "));
}

std::string panel(int width, int height, const std::vector<std::string>& layers) {
  return fmt::format("    {{\n      \"width\": {}, \"height\": {},\n      \"layer\": [\n{}\n      ]\n    }}",
                     width, height, fmt::join(layers, ",\n"));
}

std::string point_mark(std::size_t points) {
  const int size = points <= 60 ? 30 : points <= 400 ? 15 : 6;
  return fmt::format("\"type\": \"point\", \"filled\": true, \"size\": {}, \"color\": \"{}\"", size, kPoint);
}

std::string data_panel(const PlotData& plot) {
  const auto x = [&](const char* field) { return channel("x", field, plot.x_label, plot.x); };
  const auto y = [&](const char* field) { return channel("y", field, plot.y_label, plot.y); };
  std::vector<std::string> layers;
  if (!plot.curve.low.empty()) {
    layers.push_back(
        layer("curve",
              fmt::format("\"type\": \"area\", \"opacity\": 0.25, \"color\": \"{}\", \"description\": {}",
                          kFit, json_text(plot.band_title)),
              {x("x"), y("low"), "\"y2\": {\"field\": \"high\"}"}));
  }
  for (std::size_t k = 0; k < plot.components.size(); ++k) {
    layers.push_back(layer(
        fmt::format("component{}", k + 1),
        fmt::format("\"type\": \"line\", \"strokeDash\": [6, 4], \"color\": \"{}\", "
                    "\"description\": {}",
                    kComponentColours[k % kComponentColours.size()], json_text(plot.components[k].title)),
        {x("x"), y("y")}));
  }
  const std::string rule = fmt::format("\"type\": \"rule\", \"color\": \"{}\"", kPoint);
  if (!plot.points.x_error.empty())
    layers.push_back(layer("points", rule, {x("x_low"), "\"x2\": {\"field\": \"x_high\"}", y("y")}));
  if (!plot.points.y_error.empty())
    layers.push_back(layer("points", rule, {x("x"), y("y_low"), "\"y2\": {\"field\": \"y_high\"}"}));
  layers.push_back(
      layer("points", point_mark(plot.points.size()), {x("x"), y("y"), tooltip({"x", "y", "fit"})}));
  layers.push_back(
      layer("curve", fmt::format("\"type\": \"line\", \"color\": \"{}\"", kFit), {x("x"), y("fit")}));
  return panel(600, 340, layers);
}

std::string zero_line() {
  return fmt::format(
      "        {{\"data\": {{\"values\": [{{}}]}}, \"mark\": {{\"type\": \"rule\", \"color\": \"{}\"}}, "
      "\"encoding\": {{\"y\": {{\"datum\": "
      "0}}}}}}",
      kFit);
}

std::string residual_panel(const PlotData& plot) {
  return panel(
      600, 130,
      {layer("points", point_mark(plot.points.size()),
             {channel("x", "x", plot.x_label, plot.x),
              channel("y", "residual", plot.residual_label, plot.residual), tooltip({"x", "residual"})}),
       zero_line()});
}

std::string quantile_panel(const PlotData& plot) {
  const Axis x = axis_for(plot.quantiles.normal, false);
  Axis y = axis_for(plot.quantiles.residual, false);
  include(y, x.low);
  include(y, x.high);
  const std::string across = channel("x", "normal", "normal quantile", x);
  const std::string title = "standardized residual";
  return panel(280, 280,
               {layer("quantiles", point_mark(plot.quantiles.normal.size()),
                      {across, channel("y", "residual", title, y)}),
                layer("quantiles", fmt::format("\"type\": \"line\", \"color\": \"{}\"", kFit),
                      {across, channel("y", "normal", title, y)})});
}

// Returns the lines below the title: the parameters, the quality of the fit, and the notes.
std::string subtitle(const FitReport& report, const PlotData& plot) {
  std::vector<std::string> lines;
  for (const ParameterLine& p : parameter_lines(report)) lines.push_back(json_text(p.name + " = " + p.value));
  const FitResult& fit = report.fit;
  std::string quality = fmt::format("{} rows, {}", fit.rows, name(fit.summary.verdict));
  if (!report.fit.success()) quality += ": this is not a minimum";
  if (std::isfinite(fit.r_squared)) quality += fmt::format(", R² {:.6g}", fit.r_squared);
  lines.push_back(json_text(quality));
  for (const std::string& note : plot.notes) lines.push_back(json_text(note));
  return fmt::format("[{}]", fmt::join(lines, ", "));
}

}  // namespace

std::string vega_lite(const FitReport& report, const PlotData& plot) {
  std::string panels = data_panel(plot) + ",\n" + residual_panel(plot);
  if (!plot.quantiles.normal.empty()) panels += ",\n" + quantile_panel(plot);
  return fmt::format(
      "{{\n  \"$schema\": \"https://vega.github.io/schema/vega-lite/v5.json\",\n"
      "  \"title\": {{\"text\": {}, \"subtitle\": {}, \"anchor\": \"start\"}},\n"
      "{},\n  \"vconcat\": [\n{}\n  ]\n}}\n",
      json_text(plot.model), subtitle(report, plot), data_sets(plot), panels);
}

}  // namespace nlsq::cli

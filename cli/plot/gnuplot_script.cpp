// Implements the gnuplot script: three panels (data and fit, residuals, normal quantiles) and a column of
// text.
#include "plot/gnuplot_script.hpp"

#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>

namespace nlsq::cli {

namespace {

// These are places in the picture, as fractions of its width and height.
constexpr double kLeft = 0.10, kRight = 0.70;                // of the panels that share the x axis
constexpr double kTextLeft = 0.72, kLineHeight = 0.034;      // of the column of text
constexpr double kQuantileTop = 0.38, kQuantileLeft = 0.79;  // of the panel with normal quantiles
constexpr std::size_t kModelWidth = 90;  // characters of the line with the model that fit the picture
constexpr std::size_t kMostParameters = 9, kTextWidth = 38;

const char* terminal(PlotFormat format) {
  switch (format) {
    case PlotFormat::png:
      return "pngcairo noenhanced size 1920,1200 font 'Sans,13' fontscale 1.65 linewidth 2 pointscale 2 "
             "background rgb 'white'";
    case PlotFormat::pdf:
      return "pdfcairo noenhanced size 13.3in,8.3in font 'Sans,13' background rgb 'white'";
    case PlotFormat::svg:
    case PlotFormat::script:
    case PlotFormat::vega_lite:
    case PlotFormat::terminal: break;
  }
  return "svg noenhanced size 960,600 font 'sans-serif,13' background rgb 'white'";
}

const char* header(PlotFormat format) {
  if (format != PlotFormat::script) return "";
  return "# The picture of a fit by nlsq-fit, with its data. Change what you like, then draw it:\n"
         "#     gnuplot THIS_FILE > picture.svg\n"
         "# Other terminals: pngcairo, pdfcairo, qt. Text is in single quotes, in which a quote is "
         "doubled.\n";
}

std::string gnuplot_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "NaN"; }

using Values = const std::vector<double>*;

// Returns a data block of gnuplot with one line per point.
std::string block(const char* name, const char* columns, std::initializer_list<Values> values) {
  std::string out = fmt::format("${} << EOD\n# {}\n", name, columns);
  const std::size_t rows = (*values.begin())->size();
  for (std::size_t i = 0; i < rows; ++i) {
    const char* between = "";
    for (const Values column : values) {
      out += between;
      out += column->empty() ? "NaN" : gnuplot_number((*column)[i]);
      between = " ";
    }
    out += '\n';
  }
  return out + "EOD\n";
}

std::string blocks(const PlotData& plot) {
  const PlotPoints& p = plot.points;
  std::string components;
  for (std::size_t k = 0; k < plot.components.size(); ++k)
    components +=
        block(fmt::format("component{}", k + 1).c_str(), "x y", {&plot.curve.x, &plot.components[k].y});
  return block("data", "x y fit residual error_of_x error_of_y",
               {&p.x, &p.y, &p.fit, &p.residual, &p.x_error, &p.y_error}) +
         block("curve", "x fit low high",
               {&plot.curve.x, &plot.curve.fit, &plot.curve.low, &plot.curve.high}) +
         components +
         block("quantiles", "normal residual", {&plot.quantiles.normal, &plot.quantiles.residual});
}

std::string label(const std::string& text, double x, double y, const char* style = "") {
  return fmt::format("set label {} at screen {:.4f},{:.4f} left noenhanced {}\n", gnuplot_quoted(text), x, y,
                     style);
}

// Returns a parameter with its error. A long name is cut, so that the value stays visible.
std::string parameter_text(const ParameterLine& parameter) {
  const std::size_t room = kTextWidth - std::min(kTextWidth - 8, count_code_points(parameter.value) + 3);
  return shortened(parameter.name, room) + " = " + parameter.value;
}

// Texts beside the picture, where they cover no data: parameters, quality of the fit, notes. Returns the
// height that is left below them.
double add_text(const FitReport& report, const PlotData& plot, std::string& out) {
  out += label(shortened(plot.model, kModelWidth), 0.02, 0.96, "font ',15'");
  double y = 0.90;
  const auto line = [&](const std::string& text, const char* style = "font ',12'") {
    out += label(shortened(text, kTextWidth), kTextLeft, y, style);
    y -= kLineHeight;
  };
  const FitResult& fit = report.fit;
  const std::vector<ParameterLine> parameters = parameter_lines(report);
  const std::size_t shown = parameters.size() > kMostParameters + 1 ? kMostParameters : parameters.size();
  for (std::size_t j = 0; j < shown; ++j) line(parameter_text(parameters[j]));
  if (shown < parameters.size()) line(fmt::format("and {} more parameters", parameters.size() - shown));
  y -= 0.4 * kLineHeight;
  const char* const grey = "font ',12' tc rgb '#4a5568'";
  if (fit.summary.verdict != Verdict::failed) {
    line(fmt::format("{} rows{}", fit.rows,
                     std::isnan(fit.r_squared) ? "" : fmt::format(", R² {:.6g}", fit.r_squared)),
         grey);
    if (!std::isnan(fit.chi2_reduced)) {
      const char* const what = fit.loss.is_counts() ? "reduced deviance" : "reduced χ²";
      line(fmt::format("{} {:.4g}", what, fit.chi2_reduced), grey);
    }
  }
  if (fit.success()) line(name(fit.summary.verdict), grey);
  else
    line(fmt::format("{}: this is not a minimum", name(fit.summary.verdict)), "font ',12' tc rgb '#c53030'");
  for (const std::string& note : plot.notes) line(note, grey);
  return y - 0.4 * kLineHeight;
}

std::string range(const char* axis, const Axis& of) {
  return fmt::format("set {0}range [{1}:{2}]\n{3} logscale {0}\n", axis, gnuplot_number(of.low),
                     gnuplot_number(of.high), of.log ? "set" : "unset");
}

// Returns the label of a vertical axis, at a fixed distance from the left edge and in the middle of a panel.
std::string y_label(int tag, const std::string& text, double left, double bottom, double top) {
  return fmt::format("set label {} {} at screen {},{:.4f} center rotate noenhanced\n", tag,
                     gnuplot_quoted(text), left, 0.5 * (bottom + top));
}

// Sets as many tick marks as fit a small panel. `axis_name` is x or y.
std::string few_ticks(const char* axis_name, const Axis& axis) {
  const std::vector<Tick> ticks = axis.ticks(4);
  if (ticks.size() < 2) return "";
  return fmt::format("set {}tics {}\n", axis_name, gnuplot_number(ticks[1].value - ticks[0].value));
}

// Gnuplot writes six digits. If numbers differ only after these, as 100000.01 and 100000.02 do, all digits
// are written.
std::string number_format(const char* axis_name, const Axis& axis) {
  const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
  const double digits = 2 + std::floor(std::log10(largest)) - std::floor(std::log10(axis.high - axis.low));
  const bool many = !axis.log && digits > 6 && digits < 17;
  return fmt::format("set format {} '{}'\n", axis_name, many ? fmt::format("%.{}g", digits) : "% h");
}

// Returns the left edge of the panels, to the right of the numbers of their vertical axes.
double left_edge(const PlotData& plot) {
  const std::size_t width = std::max(widest_text(plot.y.ticks(6)), widest_text(plot.residual.ticks(4)));
  return std::clamp((38 + 8 * static_cast<double>(width)) / 960, kLeft, 0.25);
}

std::string margins(double left, double right, double bottom, double top) {
  return fmt::format(
      "set lmargin at screen {}\nset rmargin at screen {}\nset bmargin at screen {}\nset tmargin at screen "
      "{}\n",
      left, right, bottom, top);
}

// Dense points are transparent, so that their density is visible.
const char* point_colour(std::size_t points) { return points > 2000 ? "#901a365d" : "#1a365d"; }

double point_size(std::size_t points) { return points <= 60 ? 0.6 : points <= 400 ? 0.4 : 0.2; }

// Returns the plots of error bars, if there are any, and of the points of the data.
std::string data_plots(const PlotData& plot) {
  const PlotPoints& p = plot.points;
  const bool x_bars = !p.x_error.empty(), y_bars = !p.y_error.empty();
  const std::string style =
      fmt::format("pt 7 ps {} lw 1 lc rgb '{}' title 'data{}' noenhanced", point_size(p.size()),
                  point_colour(p.size()), y_bars ? " ± sigma" : "");
  if (x_bars && y_bars) return "$data using 1:2:5:6 with xyerrorbars " + style;
  if (y_bars) return "$data using 1:2:6 with yerrorbars " + style;
  return "$data using 1:2 with points " + style;
}

std::string main_commands(const PlotData& plot, double legend) {
  std::string out = margins(left_edge(plot), kRight, 0.36, 0.92);
  out += range("x", plot.x) + range("y", plot.y);
  out += fmt::format("set key at screen {},{:.4f} left top Left reverse samplen 2 spacing 1.1 noenhanced\n",
                     kTextLeft, legend);
  out += "set format x ''\nunset xlabel\n" + number_format("y", plot.y);
  out += y_label(100, shortened(plot.y_label, 42), 0.015, 0.36, 0.92);
  out += "plot ";
  if (!plot.curve.low.empty()) {
    out += fmt::format(
        "$curve using 1:3:4 with filledcurves lc rgb '#c05621' fs transparent solid 0.25 noborder title {} "
        "noenhanced, \\\n     ",
        gnuplot_quoted(plot.band_title));
  }
  for (std::size_t k = 0; k < plot.components.size(); ++k) {
    out += fmt::format(
        "$component{} using 1:2 with lines dt 2 lw 1.5 lc rgb '{}' title {} noenhanced, \\\n     ", k + 1,
        kComponentColours[k % kComponentColours.size()], gnuplot_quoted(plot.components[k].title));
  }
  return out + data_plots(plot) +
         fmt::format(", \\\n     $curve using 1:2 with lines lw 2 lc rgb '#c05621' title '{}'\n",
                     plot.against_fit ? "observed = fitted" : "fit");
}

std::string residual_commands(const PlotData& plot) {
  std::string out = margins(left_edge(plot), kRight, 0.11, 0.33);
  out += "unset label\nset key off\n" + range("y", plot.residual);
  out += number_format("x", plot.x) + number_format("y", plot.residual);
  out += fmt::format("set xlabel {} noenhanced\n", gnuplot_quoted(shortened(plot.x_label, 90)));
  out += y_label(101, plot.residual_label, 0.015, 0.11, 0.33) + few_ticks("y", plot.residual);
  return out + fmt::format(
                   "plot $data using 1:4 with points pt 7 ps {} lc rgb '{}', \\\n"
                   "     0 with lines lw 1.5 lc rgb '#c05621'\n",
                   point_size(plot.points.size()), point_colour(plot.points.size()));
}

// Returns the height of a legend with the terms of a sum, which may take the place of the normal quantiles.
double legend_height(const PlotData& plot) {
  constexpr double kEntry = 0.038;
  return kEntry * static_cast<double>(plot.components.size() + (plot.curve.low.empty() ? 2 : 3));
}

std::string quantile_commands(const PlotData& plot) {
  if (plot.quantiles.normal.empty()) return "";
  const Axis x = axis_for(plot.quantiles.normal, false);
  Axis y = axis_for(plot.quantiles.residual, false);
  include(y, x.low);
  include(y, x.high);
  std::string out = margins(kQuantileLeft, 0.98, 0.11, kQuantileTop);
  out += "unset label\nunset logscale\nset format '% h'\n" + range("x", x) + range("y", y);
  out += y_label(102, "standardized residual", 0.735, 0.11, kQuantileTop);
  out += "set xlabel 'normal quantile'\n" + few_ticks("x", x) + few_ticks("y", y);
  return out + fmt::format(
                   "plot x with lines lw 1.5 lc rgb '#c05621', \\\n"
                   "     $quantiles using 1:2 with points pt 7 ps {} lc rgb '#1a365d'\n",
                   std::min(0.4, point_size(plot.quantiles.normal.size())));
}

}  // namespace

std::string gnuplot_quoted(const std::string& text) {
  const std::string shown = printable(text, std::numeric_limits<std::size_t>::max());
  if (shown.find('\'') == std::string::npos) return "'" + shown + "'";
  std::string out = "\"";
  for (const char c : shown) {
    const bool plain = (c & 0x80) != 0 || c == ' ' || std::isalnum(static_cast<unsigned char>(c));
    if (plain) out += c;
    else out += fmt::format("\\{:03o}", static_cast<unsigned>(c));
  }
  return out + "\"";
}

std::string gnuplot_script(const FitReport& report, const PlotData& plot, PlotFormat format) {
  std::string out = header(format);
  out += "set encoding utf8\nset terminal ";
  out += terminal(format);
  out += "\n" + blocks(plot);
  out += "set multiplot\nset border 3 lc rgb '#4a5568'\nset tics nomirror out scale 0.6\n";
  const double legend = add_text(report, plot, out);
  out += main_commands(plot, legend) + residual_commands(plot);
  if (legend - legend_height(plot) > kQuantileTop) out += quantile_commands(plot);
  return out + "unset multiplot\n";
}

}  // namespace nlsq::cli

// Describes the contents of a picture of a fit: points, curve, band, residuals and their quantiles. They are
// computed once from the fit. The gnuplot script, the text picture, the HTML report and Vega-Lite draw them.
#pragma once

#include "fit_command.hpp"
#include "plot/axis.hpp"

#include <nlsq/options.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

// Colours of the terms of a sum of models, in order. Most readers who cannot tell red from green can still
// tell them apart.
inline constexpr std::array kComponentColours = {"#2b6cb0", "#38a169", "#805ad5",
                                                 "#b7791f", "#319795", "#d53f8c"};

// Points of the fitted curve, by rising x. A value that is not finite interrupts the curve.
struct PlotCurve {
  std::vector<double> x, fit;
  std::vector<double> low, high;  // confidence band; both are empty if there is none
};

// This is one term of a sum of models, at the curve's x. The constant that the terms share is added to each.
struct PlotComponent {
  std::string title;  // "g1: gaussian"
  std::vector<double> y;
};

// Holds the points drawn. All vectors have one entry for each of them, except errors, which may be empty.
struct PlotPoints {
  std::vector<double> x, y, fit, residual;
  std::vector<double> x_error, y_error;  // half the length of an error bar
  std::size_t size() const { return x.size(); }
};

// Holds quantiles of the standardized residuals of all rows, and those of the normal distribution.
struct NormalQuantiles {
  std::vector<double> normal, residual;
};

struct PlotData {
  std::string model;  // name and formula
  std::string x_label, y_label, residual_label;
  // With several predictors, x is the fitted value and the curve is the line y = x.
  bool against_fit = false;
  Axis x, y, residual;
  PlotPoints points;
  std::size_t rows = 0, stride = 1;  // every stride-th row is a point
  PlotCurve curve;
  std::vector<PlotComponent> components;  // of a sum of models; else empty
  std::string band_title;                 // "95 % confidence band"
  NormalQuantiles quantiles;
  std::string no_quantiles;        // why there are none
  std::vector<std::string> notes;  // what the picture leaves out, and why
};

// At most about `most_points` rows become points. `options` are those of the fit.
PlotData plot_data(const FitReport& report, const FitOptions& options, std::size_t most_points);

// The value is a text such as "102.7 ± 2.1", or another state of the parameter: "80 (fixed)".
struct ParameterLine {
  std::string name, value;
};
std::vector<ParameterLine> parameter_lines(const FitReport& report);

// Returns at most `most` code points. "…" replaces the rest.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace nlsq::cli

// Declares a chart as SVG for the HTML report. Colours come from classes that the style of the page defines,
// so that a chart follows the page into dark mode and onto paper. charts.cpp uses it.
#pragma once

#include "plot/axis.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

struct ChartLayout {
  double width = 720, height = 360;
  double left = 74;  // left edge of the area within the axes; room for the numbers of the vertical axis
  int x_ticks = 8, y_ticks = 6;
  bool x_numbers = true;  // false: the chart below shows them
  std::string title;      // read aloud, and shown by browsers when the pointer rests on the chart
  std::string x_label, y_label;
};

// Returns the `left` that the numbers of this axis need.
double left_for(const Axis& y, int y_ticks);

class SvgChart {
 public:
  SvgChart(const Axis& x, const Axis& y, ChartLayout layout);

  // `style` is a class of the page. Values that an axis cannot show are left out; in lines they leave a gap.
  void add_points(const std::vector<double>& x, const std::vector<double>& y, std::string_view style);
  void add_line(const std::vector<double>& x, const std::vector<double>& y, std::string_view style);
  void add_band(const std::vector<double>& x, const std::vector<double>& low, const std::vector<double>& high,
                std::string_view style);
  // Adds bars from y - error to y + error.
  void add_error_bars(const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& error, std::string_view style);
  // Adds horizontal bars from x - error to x + error.
  void add_x_error_bars(const std::vector<double>& x, const std::vector<double>& y,
                        const std::vector<double>& error, std::string_view style);
  void add_level(double y, std::string_view style);

  std::string svg() const;  // the whole element

 private:
  double px(double x) const;  // NaN outside of the axis
  double py(double y) const;
  double py_clipped(double y) const;  // moved to the edge of the chart; NaN for NaN
  void add_path(std::string_view path, std::string_view style);
  std::string x_axis() const;
  std::string y_axis() const;

  Axis x_, y_;
  ChartLayout layout_;
  double left_, right_, top_, bottom_;  // edges of the area within the axes
  std::string body_;
};

}  // namespace nlsq::cli

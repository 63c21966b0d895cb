// Implements charts: paths with one decimal of a pixel, which keeps pages small.
#include "report/html/svg_chart.hpp"

#include "plot/plot_data.hpp"
#include "report/html/html_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::cli {

namespace {

constexpr double kFontSize = 12;

std::string text(double x, double y, std::string_view content, std::string_view attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, escaped(content));
}

}  // namespace

double left_for(const Axis& y, int y_ticks) {
  return std::max(ChartLayout{}.left, 36 + 7.3 * static_cast<double>(widest_text(y.ticks(y_ticks))));
}

SvgChart::SvgChart(const Axis& x, const Axis& y, ChartLayout layout)
    : x_(x), y_(y), layout_(std::move(layout)), left_(layout_.left), right_(layout_.width - 14), top_(12),
      bottom_(layout_.height - (layout_.x_numbers ? 46 : 10)) {}

double SvgChart::px(double x) const {
  const double place = x_.place(x);
  return place >= -1e-9 && place <= 1 + 1e-9 ? left_ + place * (right_ - left_) : std::nan("");
}

double SvgChart::py(double y) const {
  const double place = y_.place(y);
  return place >= -1e-9 && place <= 1 + 1e-9 ? bottom_ - place * (bottom_ - top_) : std::nan("");
}

double SvgChart::py_clipped(double y) const {
  if (y_.log && y <= 0) return bottom_;
  const double place = y_.place(y);
  return std::isnan(place) ? place : bottom_ - std::clamp(place, 0.0, 1.0) * (bottom_ - top_);
}

void SvgChart::add_path(std::string_view path, std::string_view style) {
  if (!path.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, path);
}

// A point is a line without length, which round line caps turn into a disc.
void SvgChart::add_points(const std::vector<double>& x, const std::vector<double>& y,
                          std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = px(x[i]), v = py(y[i]);
    if (std::isfinite(h) && std::isfinite(v)) path += fmt::format("M{:.1f} {:.1f}h0", h, v);
  }
  add_path(path, style);
}

void SvgChart::add_line(const std::vector<double>& x, const std::vector<double>& y, std::string_view style) {
  std::string path;
  bool connected = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = px(x[i]), v = py(y[i]);
    const bool drawn = std::isfinite(h) && std::isfinite(v);
    if (drawn) path += fmt::format("{}{:.1f} {:.1f}", connected ? "L" : "M", h, v);
    connected = drawn;
  }
  add_path(path, style);
}

// One outline for each stretch of x over which the band is defined.
void SvgChart::add_band(const std::vector<double>& x, const std::vector<double>& low,
                        const std::vector<double>& high, std::string_view style) {
  std::string path, back;
  const auto close = [&] {
    if (!back.empty()) path += back + "Z";
    back.clear();
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = px(x[i]), from = py_clipped(low[i]), to = py_clipped(high[i]);
    if (!std::isfinite(h) || !std::isfinite(from) || !std::isfinite(to)) {
      close();
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", back.empty() ? "M" : "L", h, to);
    back = fmt::format("L{:.1f} {:.1f}", h, from) + back;
  }
  close();
  add_path(path, style);
}

void SvgChart::add_error_bars(const std::vector<double>& x, const std::vector<double>& y,
                              const std::vector<double>& error, std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = px(x[i]), from = py_clipped(y[i] - error[i]), to = py_clipped(y[i] + error[i]);
    if (std::isfinite(h) && std::isfinite(from) && std::isfinite(to))
      path += fmt::format("M{:.1f} {:.1f}V{:.1f}", h, from, to);
  }
  add_path(path, style);
}

void SvgChart::add_x_error_bars(const std::vector<double>& x, const std::vector<double>& y,
                                const std::vector<double>& error, std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = py(y[i]);
    const double from = px(std::max(x[i] - error[i], x_.low)), to = px(std::min(x[i] + error[i], x_.high));
    if (std::isfinite(v) && std::isfinite(from) && std::isfinite(to))
      path += fmt::format("M{:.1f} {:.1f}H{:.1f}", from, v, to);
  }
  add_path(path, style);
}

void SvgChart::add_level(double y, std::string_view style) {
  const double v = py(y);
  if (std::isfinite(v)) add_path(fmt::format("M{:.1f} {:.1f}H{:.1f}", left_, v, right_), style);
}

std::string SvgChart::x_axis() const {
  std::string path = fmt::format("M{:.1f} {:.1f}H{:.1f}", left_, bottom_, right_), labels;
  for (const Tick& tick : x_.ticks(layout_.x_ticks)) {
    const double h = px(tick.value);
    if (!std::isfinite(h)) continue;
    path += fmt::format("M{:.1f} {:.1f}v5", h, bottom_);
    if (layout_.x_numbers) labels += text(h, bottom_ + 18, tick.text, " text-anchor=\"middle\"");
  }
  if (!layout_.x_label.empty() && layout_.x_numbers) {
    labels += text(0.5 * (left_ + right_), layout_.height - 6, shortened(layout_.x_label, 90),
                   " class=\"label\" text-anchor=\"middle\"");
  }
  return fmt::format("<path class=\"axis\" d=\"{}\"/>\n", path) + labels;
}

std::string SvgChart::y_axis() const {
  std::string path = fmt::format("M{:.1f} {:.1f}V{:.1f}", left_, top_, bottom_), grid, labels;
  for (const Tick& tick : y_.ticks(layout_.y_ticks)) {
    const double v = py(tick.value);
    if (!std::isfinite(v)) continue;
    path += fmt::format("M{:.1f} {:.1f}h-5", left_, v);
    grid += fmt::format("M{:.1f} {:.1f}H{:.1f}", left_, v, right_);
    labels += text(left_ - 9, v + 0.35 * kFontSize, tick.text, " text-anchor=\"end\"");
  }
  const double middle = 0.5 * (top_ + bottom_);
  const auto room = static_cast<std::size_t>(std::max(8.0, (bottom_ - top_) / 6.5));
  labels += text(
      14, middle, shortened(layout_.y_label, room),
      fmt::format(" class=\"label\" text-anchor=\"middle\" transform=\"rotate(-90 14 {:.1f})\"", middle));
  return fmt::format("<path class=\"grid\" d=\"{}\"/>\n<path class=\"axis\" d=\"{}\"/>\n", grid, path) +
         labels;
}

std::string SvgChart::svg() const {
  return fmt::format("<svg viewBox=\"0 0 {0:g} {1:g}\" role=\"img\">\n<title>{2}</title>\n{3}{4}{5}</svg>\n",
                     layout_.width, layout_.height, escaped(layout_.title), y_axis(), body_, x_axis());
}

}  // namespace nlsq::cli

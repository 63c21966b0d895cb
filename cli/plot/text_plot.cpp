// Implements the picture in characters: two panels with their axes.
#include "plot/text_plot.hpp"

#include "plot/text_canvas.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace nlsq::cli {

namespace {

constexpr std::size_t kMainHeight = 18, kResidualHeight = 7;
constexpr std::size_t kLeast = 40, kMost = 200;  // columns

struct Panel {
  const PlotData& plot;
  const TextStyle& style;
  std::size_t gutter;  // columns left of the canvas, with the axis
  const Axis& y;
  TextCanvas canvas;
  bool many_points;
};

std::string padded_left(const std::string& text, std::size_t width) {
  const std::size_t length = count_code_points(text);
  return std::string(length < width ? width - length : 0, ' ') + text;
}

// Returns rows of the canvas with the vertical axis and its labels.
std::string with_axis(const Panel& panel, const std::vector<Tick>& ticks) {
  const std::vector<std::string> rows = panel.canvas.rows(panel.many_points);
  std::vector<std::string> labels(rows.size());
  for (const Tick& tick : ticks) labels[panel.canvas.row_of(panel.y.place(tick.value))] = tick.text;
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const axis =
        panel.style.unicode ? (labels[i].empty() ? "│" : "┤") : (labels[i].empty() ? "|" : "+");
    std::string line = padded_left(labels[i], panel.gutter - 2) + " " + axis + rows[i];
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

// Returns the horizontal axis, and below it the labels that do not overlap.
std::string x_axis(const Panel& panel, std::size_t width, const std::vector<Tick>& ticks, const Axis& x) {
  const bool unicode = panel.style.unicode;
  std::vector<bool> marks(width, false);
  std::string labels;
  std::size_t end = 0;  // of the labels so far, in columns
  for (const Tick& tick : ticks) {
    const std::size_t column = panel.canvas.column_of(x.place(tick.value));
    const std::size_t length = count_code_points(tick.text), centre = panel.gutter + column;
    const std::size_t start = std::max(centre, length / 2) - length / 2;
    if ((end > 0 && start < end + 2) || start + length > panel.gutter + width) continue;
    marks[column] = true;
    labels += std::string(start - end, ' ') + tick.text;
    end = start + length;
  }
  std::string line = std::string(panel.gutter - 1, ' ') + (unicode ? "└" : "+");
  for (const bool mark : marks) line += unicode ? (mark ? "┬" : "─") : (mark ? "+" : "-");
  return line + "\n" + labels + "\n";
}

void draw_points(Panel& panel, const std::vector<double>& y) {
  const PlotPoints& points = panel.plot.points;
  for (std::size_t i = 0; i < points.size(); ++i)
    panel.canvas.add_point(panel.plot.x.place(points.x[i]), panel.y.place(y[i]));
}

void draw_curve(Panel& panel) {
  const PlotCurve& curve = panel.plot.curve;
  for (std::size_t i = 1; i < curve.x.size(); ++i) {
    panel.canvas.add_line(panel.plot.x.place(curve.x[i - 1]), panel.y.place(curve.fit[i - 1]),
                          panel.plot.x.place(curve.x[i]), panel.y.place(curve.fit[i]));
  }
}

std::string legend(const PlotData& plot, bool many, bool unicode) {
  const char* const data = unicode ? (many ? "░▒▓" : "•") : (many ? ":+#" : "o");
  const char* const line = unicode ? "⠒" : many ? "*" : ".";
  return fmt::format("{} data  {} {}", data, line, plot.against_fit ? "observed = fitted" : "fit");
}

// Replaces characters beyond ASCII by question marks if the terminal has no UTF-8.
std::string for_terminal(std::string text, bool unicode) {
  if (unicode) return text;
  std::string out;
  for (const char c : text) {
    if ((c & 0x80) == 0) out += c;
    else if ((c & 0xC0) == 0xC0) out += '?';
  }
  return out;
}

bool names_utf8(const char* locale) {
  const std::string_view text = locale;
  for (const char* const form : {"UTF-8", "utf-8", "UTF8", "utf8"})
    if (text.find(form) != std::string_view::npos) return true;
  return false;
}

}  // namespace

TextStyle terminal_style() {
  TextStyle style;
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    style.unicode = value != nullptr && names_utf8(value);
    if (value != nullptr && *value != '\0') break;  // the first of them that is set decides
  }
  const char* const columns = std::getenv("COLUMNS");
  const int wanted = columns == nullptr ? 0 : std::atoi(columns);
  winsize size = {};
  if (wanted > 0) style.width = static_cast<std::size_t>(wanted);
  else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  style.width = std::clamp(style.width, kLeast, kMost);
  return style;
}

std::string text_plot(const PlotData& plot, const TextStyle& style) {
  const bool ascii = !style.unicode;
  const std::vector<Tick> y_ticks = plot.y.ticks(6, ascii), residual_ticks = plot.residual.ticks(3, ascii);
  const std::size_t gutter = std::max(widest_text(y_ticks), widest_text(residual_ticks)) + 2;
  const std::size_t width = std::max<std::size_t>(style.width, gutter + 20) - gutter;
  const bool many = plot.points.size() > 2 * width;
  Panel main{plot, style, gutter, plot.y, TextCanvas(width, kMainHeight, style.unicode), many};
  draw_points(main, plot.points.y);
  draw_curve(main);
  Panel below{plot, style, gutter, plot.residual, TextCanvas(width, kResidualHeight, style.unicode), many};
  below.canvas.add_level(plot.residual.place(0));
  draw_points(below, plot.points.residual);

  const auto fitted = [&](const std::string& text) {
    return for_terminal(shortened(text, style.width), style.unicode);
  };
  std::string out = fitted(plot.model) + "\n";
  out += fitted(plot.y_label + "    " + legend(plot, many, style.unicode)) + "\n";
  out += with_axis(main, y_ticks) + fitted(plot.residual_label) + "\n" + with_axis(below, residual_ticks);
  out += x_axis(below, width, plot.x.ticks(static_cast<int>(width / 10), ascii), plot.x);
  const std::string x_label = fitted(plot.x_label);
  out += padded_left(x_label, gutter + width / 2 + count_code_points(x_label) / 2) + "\n";
  for (const std::string& note : plot.notes) out += fitted("(" + note + ")") + "\n";
  return out;
}

}  // namespace nlsq::cli

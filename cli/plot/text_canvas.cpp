// Implements the grid of characters.
#include "plot/text_canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace nlsq::cli {

namespace {

// Returns U+2800 plus the dots, in UTF-8.
std::string braille(unsigned dots) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

bool inside(double fraction) { return fraction >= 0 && fraction <= 1; }

}  // namespace

TextCanvas::TextCanvas(std::size_t width, std::size_t height, bool unicode)
    : width_(width), height_(height), unicode_(unicode), cells_(width * height) {}

std::size_t TextCanvas::row_of(double y) const {
  return std::min(height_ - 1, static_cast<std::size_t>((1 - y) * static_cast<double>(height_)));
}

std::size_t TextCanvas::column_of(double x) const {
  return std::min(width_ - 1, static_cast<std::size_t>(x * static_cast<double>(width_)));
}

void TextCanvas::add_point(double x, double y) {
  if (!inside(x) || !inside(y)) return;
  ++cells_[row_of(y) * width_ + column_of(x)].points;
}

// Dots are numbered as in Unicode: 1, 2, 3, 7 down the left column and 4, 5, 6, 8 down the right one.
void TextCanvas::add_dot(double px, double py) {
  constexpr unsigned char kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const double dots_wide = 2 * static_cast<double>(width_), dots_high = 4 * static_cast<double>(height_);
  if (!(px >= 0 && px < dots_wide && py >= 0 && py < dots_high)) return;
  const auto x = static_cast<std::size_t>(px), y = static_cast<std::size_t>(py);
  cells_[y / 4 * width_ + x / 2].dots |= kBits[y % 4][x % 2];
}

void TextCanvas::add_line(double x0, double y0, double x1, double y1) {
  const double dots_wide = 2 * static_cast<double>(width_), dots_high = 4 * static_cast<double>(height_);
  const double dx = (x1 - x0) * dots_wide, dy = (y0 - y1) * dots_high;
  const double length = std::max(std::fabs(dx), std::fabs(dy));
  if (!std::isfinite(length) || length > 4 * (dots_wide + dots_high)) return;
  const int steps = static_cast<int>(length) + 1;
  for (int i = 0; i <= steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    add_dot(std::min(x0 * dots_wide + t * dx, dots_wide - 0.5),
            std::min((1 - y0) * dots_high + t * dy, dots_high - 0.5));
  }
}

void TextCanvas::add_level(double y) {
  if (!inside(y)) return;
  for (std::size_t column = 0; column < width_; ++column) cells_[row_of(y) * width_ + column].level = true;
}

std::string TextCanvas::cell_text(const Cell& cell, bool many_points, unsigned most) const {
  const std::string line = cell.dots == 0 ? "" : unicode_ ? braille(cell.dots) : many_points ? "*" : ".";
  std::string points;
  if (cell.points > 0 && many_points) {
    const bool dense = 3 * cell.points > most, half = 8 * cell.points > most;
    points = unicode_ ? (dense ? "▓" : half ? "▒" : "░") : (dense ? "#" : half ? "+" : ":");
  } else if (cell.points > 0) {
    points = unicode_ ? "•" : "o";
  }
  if (!points.empty() && (!many_points || line.empty())) return points;
  if (!line.empty()) return line;
  return cell.level ? (unicode_ ? "┈" : "-") : " ";
}

std::vector<std::string> TextCanvas::rows(bool many_points) const {
  unsigned most = 0;
  for (const Cell& cell : cells_) most = std::max(most, cell.points);
  std::vector<std::string> rows(height_);
  for (std::size_t i = 0; i < cells_.size(); ++i) rows[i / width_] += cell_text(cells_[i], many_points, most);
  return rows;
}

}  // namespace nlsq::cli

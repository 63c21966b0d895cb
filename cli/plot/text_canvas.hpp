// Declares a grid of characters on which the text picture is drawn. text_plot.cpp uses it.
#pragma once

#include "plot/axis.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

// Each cell holds 2 x 4 dots of a line, shown as a Braille character, and counts the points that fall into
// it. In plain ASCII, a cell with any dot is a full stop.
class TextCanvas {
 public:
  TextCanvas(std::size_t width, std::size_t height, bool unicode);

  // Positions are fractions of the width and the height, from the lower left corner. Points outside are left
  // out.
  void add_point(double x, double y);
  void add_line(double x0, double y0, double x1, double y1);
  // Adds a dotted line from left to right, below everything else.
  void add_level(double y);

  // Returns one string per row of cells, from the top. If points are few, they are drawn over the line. If
  // they are many, they are drawn below it, shaded by their number.
  std::vector<std::string> rows(bool many_points) const;

  std::size_t row_of(double y) const;     // of a fraction within [0, 1]
  std::size_t column_of(double x) const;  // of a fraction within [0, 1]

 private:
  struct Cell {
    unsigned char dots = 0;
    unsigned points = 0;
    bool level = false;
  };
  void add_dot(double px, double py);
  std::string cell_text(const Cell& cell, bool many_points, unsigned most) const;

  std::size_t width_, height_;
  bool unicode_;
  std::vector<Cell> cells_;
};

}  // namespace nlsq::cli

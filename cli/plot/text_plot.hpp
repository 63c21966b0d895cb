// Declares the picture of a fit in characters, for --plot -.
#pragma once

#include "plot/plot_data.hpp"

#include <cstddef>
#include <string>

namespace nlsq::cli {

struct TextStyle {
  std::size_t width = 80;  // columns
  bool unicode = true;     // otherwise ASCII
};

// Returns the style for standard output. The width is that in COLUMNS, otherwise that of the terminal,
// otherwise 80. Unicode is used if the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8.
TextStyle terminal_style();

// Draws data and curve, and the residuals below on the same x axis. The text ends with a line break.
std::string text_plot(const PlotData& plot, const TextStyle& style);

}  // namespace nlsq::cli

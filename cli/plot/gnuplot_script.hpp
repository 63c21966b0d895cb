// Declares the gnuplot script of a fit, with its data inside. plot_output.cpp writes it to a file or hands it
// to gnuplot.
#pragma once

#include "plot/plot_data.hpp"
#include "plot/plot_options.hpp"

#include <string>

namespace nlsq::cli {

// Returns a script that draws on standard output. `format` chooses gnuplot's terminal; scripts for people use
// SVG.
std::string gnuplot_script(const FitReport& report, const PlotData& plot, PlotFormat format);

// Returns a string constant of gnuplot. Within single quotes, gnuplot expands nothing: no backquotes, no
// @macros, no backslashes. A quote could be doubled there, but gnuplot 5.4 misreads a doubled quote at the
// start. A text with a quote is therefore in double quotes, and all signs in it are octal escapes. Control
// characters become \xNN.
std::string gnuplot_quoted(const std::string& text);

}  // namespace nlsq::cli

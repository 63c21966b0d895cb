// Declares the options of pictures: --plot, --plot-scale and --report. arguments.cpp parses them with the
// other options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nlsq::cli {

enum class PlotScale { automatic, linear, log_x, log_y, log_log };

// Says how a picture is written, by the ending of its name. `terminal` is "-", a picture of characters.
enum class PlotFormat { terminal, script, vega_lite, svg, png, pdf };

struct PlotOptions {
  std::vector<std::string> files;  // from --plot
  std::string html;                // from --report; empty for none
  std::string scale_text = "auto";
  PlotScale scale = PlotScale::automatic;

  bool to_stdout() const;  // one of the files is "-"
};

// Declares the options. `options` must outlive the parsing.
void add_plot_options(CLI::App& app, PlotOptions& options);

// Checks the texts and sets `scale`. Throws UsageError for a name with an unknown ending, and OutputError if
// gnuplot is needed and not installed, both before any data are read.
void check_plot_options(PlotOptions& options);

// Returns the command line so that a shell would take it again: words with other characters than letters,
// digits and a few signs are quoted.
std::string shell_command(int argc, const char* const* argv);

// Returns the format for the ending of a name. Throws UsageError for an unknown ending.
PlotFormat plot_format(const std::string& file);

}  // namespace nlsq::cli

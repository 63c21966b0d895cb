// Runs gnuplot as a child process. plot_output.cpp uses it.
#pragma once

#include <string>

namespace nlsq::cli {

// Returns the path of gnuplot. Throws OutputError that names the package if no folder of PATH has gnuplot.
std::string find_gnuplot();

// Runs the script and returns what gnuplot wrote to its standard output. Settings of the user (~/.gnuplot)
// are not read, so that the picture depends on the script alone. Throws OutputError with gnuplot's message if
// it fails. `file` is named in messages.
std::string run_gnuplot(const std::string& script, const std::string& file);

}  // namespace nlsq::cli

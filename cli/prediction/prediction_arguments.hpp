// Declares the options of what follows a fit: --predict, --band, --csv, --derive, --bootstrap. arguments.cpp
// parses them with the other options.
#pragma once

#include <nlsq/bootstrap.hpp>
#include "table/x_limit.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nlsq::cli {

struct Arguments;

// Holds the texts of the options, filled by CLI11.
struct RawPrediction {
  std::string predict, band = "standard", csv, bootstrap, method;
  std::vector<std::string> derive;
};

// `count` points from `from` to `to`, both included.
struct Grid {
  XLimit from, to;
  std::size_t count = 0;
};

// Parses A:B:N with three numbers, or with two dates and a number, the value of `option`. Returns nothing for
// any other text, which is the name of a file. Throws UsageError for numbers that are no points.
std::optional<Grid> grid_of(const std::string& text, const char* option);

struct PredictionArguments {
  std::string predict;       // a file, "-", values of x, or A:B:N; empty: no prediction
  std::optional<Grid> grid;  // if it is A:B:N
  std::vector<XLimit> list;  // if it is values of x
  // Holds the moment, if the text is one. A text such as 10:20:30 is a grid, too. It counts as a moment if x
  // has dates, and as a grid otherwise.
  std::optional<Moment> time;
  bool profile_band = false;
  // This is the value of --csv: a file, or "-", for predictions, or with --group-by for the table of groups.
  // If it is empty, the report has the table.
  std::string csv;
  std::vector<std::string> derive;  // "name=expression"
  int bootstrap = 0;                // number of samples; 0: none
  std::optional<BootstrapMethod> method;
};

// Adds the options to the help. `raw` must outlive the parsing.
void add_prediction_options(CLI::App& app, RawPrediction& raw);

// `arguments` has all other options, which some of these depend on. Throws UsageError.
PredictionArguments prediction_arguments(const RawPrediction& raw, const Arguments& arguments);

}  // namespace nlsq::cli

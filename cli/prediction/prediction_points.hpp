// Declares the points of --predict: read from a table, or evenly spaced.
#pragma once

#include "arguments/arguments.hpp"
#include "table/data_selection.hpp"

#include <vector>

namespace nlsq::cli {

struct PredictionPoints {
  std::vector<std::vector<double>> x = {};  // one column for each predictor; empty: no prediction
  std::vector<double> sigma = {};           // of new observations; empty: not known
  bool has_text = false;                    // read from a text
};

// Reads the points of a file with the options of the data: --delimiter, --missing ... A column that --x chose
// by number is found by its name if both tables have it. sigma is taken if the file has all named columns of
// --sigma. Filters (--where, --range) do not apply. Throws UsageError or BadData.
PredictionPoints read_points(const Arguments& arguments, const FitData& data);

// Returns `count` points from `from` to `to`, which is above `from`.
std::vector<double> even_points(double from, double to, std::size_t count);

}  // namespace nlsq::cli

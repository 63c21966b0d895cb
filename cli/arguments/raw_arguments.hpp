// The options of the command line as CLI11 knows them: names, help, and where each text goes.
#pragma once

#include "arguments/arguments.hpp"

#include <CLI/App.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

// What CLI11 fills as text; meaning is given to it afterwards, in one place.
struct RawArguments {
  std::string file, delimiter, decimal = ".", thousands, comment = "#", header = "auto", missing = "error";
  std::string skip, max_line, ftol, xtol, gtol, strategy, nonmonotonic, max_iterations, time_limit, threads,
      confidence;
  std::optional<std::string> precision, optimize, loss, f_scale;
  std::string starts, seed, intervals = "standard", variable_projection = "auto";
  std::vector<std::string> p0, fix, bounds, rules;
  bool list_models = false, version = false;
};

// Options on the table, and on the model, the fit and the output. What they fill outlives the parsing.
void add_data_options(CLI::App& app, RawArguments& raw, Selection& selection);
void add_fit_options(CLI::App& app, RawArguments& raw, Arguments& arguments);

}  // namespace nlsq::cli

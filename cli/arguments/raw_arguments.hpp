// Declares the command-line options for CLI11: names, help, and the variable for each text. arguments.cpp
// uses it.
#pragma once

#include "arguments/arguments.hpp"
#include "prediction/prediction_arguments.hpp"

#include <CLI/App.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

// The option values as text, filled by CLI11. arguments.cpp converts them.
struct RawArguments {
  std::vector<std::string> files;
  std::string delimiter, thousands, comment = "#", header = "auto", missing = "error";
  std::string skip, max_line, memory, ftol, xtol, gtol, strategy, nonmonotonic, max_iterations, time_limit,
      threads, confidence;
  std::optional<std::string> decimal, precision, optimize, loss, f_scale;
  std::string axis, starts, seed, intervals = "standard", variable_projection = "auto", progress = "auto";
  std::vector<std::string> p0, fix, bounds, rules, share;
  std::string completion;
  RawPrediction prediction;
  bool list_models = false, version = false, man = false;
};

// Add the options of the table, and those of model, fit and output. The variables that they fill must outlive
// the parsing.
void add_data_options(CLI::App& app, RawArguments& raw, Arguments& arguments);
void add_fit_options(CLI::App& app, RawArguments& raw, Arguments& arguments);

// Throws UsageError if an option has an empty value, because the program would take it for one that was not
// given. Only --comment may be empty. It means that the file has no comments.
void refuse_empty_values(const CLI::App& app);

}  // namespace nlsq::cli

// Declares the option --compare. arguments.cpp parses it with the other options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nlsq::cli {

struct Arguments;

struct CompareArguments {
  std::string text;                 // text of the option
  std::vector<std::string> models;  // names, sums or formulas; empty: no comparison
};

// Adds the option to the help. `compare` must outlive the parsing.
void add_compare_options(CLI::App& app, CompareArguments& compare);

// Splits the text into models, adds that of --model, and rejects options that concern one model only. Without
// --model, the first model of the text takes its place. Throws UsageError.
void take_compare(Arguments& arguments);

}  // namespace nlsq::cli

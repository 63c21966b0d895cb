// Declares the page that --help formulas prints: operators, constants and functions of formulas.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nlsq::cli {

struct FunctionText {
  std::string_view usage;  // "log(x)"; its name is the part before the parenthesis
  std::string_view meaning;
  std::string_view name() const { return usage.substr(0, usage.find('(')); }
};

// Returns every function of the formula language. A test compares them with the table of the parser.
std::span<const FunctionText> function_texts();

std::string formula_page();

}  // namespace nlsq::cli

// Declares the functions of the formula language, and suggestions for unknown function names. The parser uses
// them.
#pragma once

#include <nlsq/formula.hpp>

#include <span>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

struct FormulaFunction {
  std::string_view name;
  Op op;
  int arguments;
  bool more_allowed = false;  // accepts more than `arguments`, combined from the left
  CompoundFunction compound = CompoundFunction::none;
};

std::span<const FormulaFunction> formula_functions();

// Returns null if no function has that name.
const FormulaFunction* find_function(std::string_view name);

// Returns "; did you mean 'log'?", or an empty text.
std::string suggest_function(std::string_view name);

// Returns "2 arguments", "1 argument" or "2 or more arguments".
std::string expected_arguments(const FormulaFunction& function);

}  // namespace nlsq::inline v0

// The functions of the formula language, and what to say about names that are none.
#pragma once

#include <nlsq/formula.hpp>

#include <string>
#include <string_view>

namespace nlsq::inline v0 {

struct FormulaFunction {
  std::string_view name;
  Op op;
  int arguments;
  bool more_allowed = false;  // `arguments` or more, joined from the left
  CompoundFunction compound = CompoundFunction::none;
};

// Null where there is none of that name.
const FormulaFunction* find_function(std::string_view name);

// "; did you mean 'log'?", or nothing.
std::string suggest_function(std::string_view name);

// "2 arguments", "1 argument", "2 or more arguments".
std::string expected_arguments(const FormulaFunction& function);

}  // namespace nlsq::inline v0

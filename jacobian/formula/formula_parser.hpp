// Parses tokens to postfix steps by Dijkstra's shunting-yard algorithm with explicit stacks, so that nesting
// uses the heap and not the call stack.
#pragma once

#include "formula/formula_tokens.hpp"

#include <nlsq/formula.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds the meaning of names on one side of a formula.
struct FormulaNames {
  const FormulaOptions* options = nullptr;
  bool left_side = false;                          // the response is allowed, parameters are not
  std::vector<std::string>* parameters = nullptr;  // in order of first appearance; new names are appended
};

// Returns the steps of one expression. `tokens` are those of one side of the formula. Throws FormulaError.
std::vector<FormulaStep> parse_expression(std::string_view text, std::span<const Token> tokens,
                                          const FormulaNames& names);

}  // namespace nlsq::inline v0

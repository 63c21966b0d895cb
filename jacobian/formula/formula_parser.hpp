// From tokens to postfix steps: Dijkstra's shunting-yard algorithm with stacks of its own, so that
// nesting costs heap, never call stack.
#pragma once

#include "formula/formula_functions.hpp"
#include "formula/formula_tokens.hpp"

#include <nlsq/formula.hpp>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace nlsq::inline v0 {

// What names stand for, on one side of a formula.
struct FormulaNames {
  const FormulaOptions* options = nullptr;
  bool left_side = false;                          // the response is allowed, parameters are not
  std::vector<std::string>* parameters = nullptr;  // in order of first appearance; grows
};

// The steps of one expression: `tokens` is what stands between the formula's ends or its '='. Throws
// FormulaError.
std::vector<FormulaStep> parse_expression(std::string_view text, std::span<const Token> tokens,
                                          const FormulaNames& names);

}  // namespace nlsq::inline v0

// Declares functions for names in texts that users write, and for the names of predictors. Ties, derived
// quantities, sums of models and fits use them.
#pragma once

#include "policy_text.hpp"  // trimmed()

#include <nlsq/formula.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Returns true for ASCII letters and the underscore, whatever the locale is.
bool is_letter(char c) noexcept;
bool is_digit(char c) noexcept;
// Returns true for a letter that is followed by letters and digits only.
bool is_name(std::string_view text) noexcept;
// Returns the name to which a tie gives a value: "d" for "d = 2*a".
std::string_view tied_name(std::string_view tie);
// Returns true if one of the ties gives this parameter its value.
bool is_tied(std::span<const std::string> ties, std::string_view name);

// Returns the Levenshtein distance, with which names are suggested.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Holds an expression of parameters alone.
struct ParameterExpression {
  Formula formula;
  std::vector<NodeId> derivatives;  // by each parameter, as nodes of the formula's graph
};

// Parses an expression of parameters alone. Throws ValidationError, whose text begins with `what`, for
// example "tie 'd = 2*a'".
ParameterExpression parameter_expression(std::string_view text, const std::string& what);

// Returns 0, 1 ... count - 1, for functions that take a list of parameters.
std::vector<int> all_parameters(std::size_t count);
// Returns the step of a formula that is this parameter.
FormulaStep parameter_step(std::size_t parameter);

// Returns these steps of a formula with others in place of its parameters. `replacement(k)` returns those of
// parameter k.
std::vector<FormulaStep> with_replaced_parameters(
    const std::vector<FormulaStep>& steps,
    const std::function<std::vector<FormulaStep>(std::size_t)>& replacement);

// Returns the steps that compute node `root`. There are none if they would be more than `most`, since a
// formula repeats what a graph shares, or if the node depends on a branch that was not explored.
std::optional<std::vector<FormulaStep>> steps_of(const Graph& graph, NodeId root, std::size_t most);

// Names the predictors x, or x1 ... xk.
FormulaOptions predictor_options(std::size_t predictors);

}  // namespace nlsq::inline v0

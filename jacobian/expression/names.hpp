// Functions for names in texts that users write, and for the names of predictors. Ties, derived quantities,
// sums of models and fits use them.
#pragma once

#include "policy_text.hpp"  // trimmed()

#include <nlsq/formula.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

// ASCII letters and the underscore, whatever the locale is.
bool is_letter(char c) noexcept;
bool is_digit(char c) noexcept;
// A letter, then letters and digits.
bool is_name(std::string_view text) noexcept;
// The name that a tie such as "d = 2*a" gives a value.
std::string_view tied_name(std::string_view tie);

// The Levenshtein distance, for the suggestion of a name.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Parses an expression of parameters alone. Throws ValidationError that begins with `what`: "tie 'd = 2*a'".
Formula parameter_expression(std::string_view text, const std::string& what);

// Names the predictors x, or x1 ... xk.
FormulaOptions predictor_options(std::size_t predictors);

}  // namespace nlsq::inline v0

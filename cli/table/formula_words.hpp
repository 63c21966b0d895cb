// Finds the names in formulas and in expressions over columns, without parsing them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// Holds a word of a formula: its position and its kind. A function is a name before a bracket; a number
// reference is $2; a quoted word is in backquotes, with them.
struct Word {
  std::size_t begin = 0, end = 0;
  enum Kind { name, function, number_reference, quoted } kind = name;
};

// Returns the next word at or after `at`. Skips numbers (1e5 contains a letter).
std::optional<Word> next_word(std::string_view text, std::size_t at);

bool is_identifier(std::string_view text) noexcept;

// Returns the name of a column without a unit in brackets at its end: "my time" for "my time (s)".
std::string_view name_before_unit(std::string_view name);

// Returns the name that a column can have in a formula. This is its own name if it is an identifier,
// otherwise the identifier before a unit in brackets: "T" for "T [K]", "time" for "time (s)". It is empty if
// there is none.
std::string_view name_in_formulas(std::string_view name);

// Returns the names in a formula, in its order, without those of functions.
std::vector<std::string> names_in(std::string_view formula);

// Returns true if `name` occurs in a formula as a name, not as a function.
bool mentions(std::string_view formula, std::string_view name);

}  // namespace nlsq::cli

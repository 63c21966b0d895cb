// Splits the text of a formula into tokens. Positions are byte offsets; the locale has no effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

enum class Symbol : std::uint8_t {
  number,
  name,
  open,
  close,
  comma,
  assign,
  end,
  // operators, binary unless noted; minus and plus are also prefixes
  logical_or,
  logical_and,
  logical_not,  // prefix
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  plus,
  minus,
  times,
  divide,
  power,
};

struct Token {
  Symbol symbol = Symbol::end;
  std::string_view text;
  std::size_t column = 0;
  double value = 0;  // value of a number
};

// Returns the tokens, with `end` last. Throws FormulaError at the first unreadable character.
std::vector<Token> tokenize(std::string_view formula);

}  // namespace nlsq::inline v0

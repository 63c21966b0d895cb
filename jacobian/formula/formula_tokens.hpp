// From the text of a formula to tokens. Positions count bytes; the locale plays no part.
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
  // operators, binary unless said otherwise; minus and plus are also prefixes
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
  double value = 0;  // of a number
};

// The tokens, an `end` last. Throws FormulaError at the first character that cannot be read.
std::vector<Token> tokenize(std::string_view formula);

}  // namespace nlsq::inline v0

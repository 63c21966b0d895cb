// Finds comparisons of a column with a text in an expression: site == "north". column_expression.cpp uses it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nlsq::cli {

struct TextComparison {
  std::size_t begin = 0, length = 0;  // in the expression
  std::string reference;              // the column as written: a name, $n or a backquoted name
  std::string text;                   // without its quotes
  bool negated = false;               // !=
};

// Returns the first comparison at or after `at`. A text is in double or single quotes and holds no such
// quote. Throws UsageError, which names `option`, for a text that is not compared with a column by == or !=.
std::optional<TextComparison> find_text_comparison(std::string_view expression, std::size_t at,
                                                   const std::string& option);

}  // namespace nlsq::cli

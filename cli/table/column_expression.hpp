// Declares the arguments of --x, --y, --sigma and --where: a column by name or number, or an expression over
// columns.
//
//   time        the column with the header time, time (s) or time [s]
//   `my time`   the column with that header, which is not an identifier
//   2 or $2     the second column
//   $0          the number of the row, from 1
//   log($2)/t   an expression: names, $n, backquoted names, and every function of formulas
//   a == "b"    1 where the text of column a is b, otherwise 0; also !=
#pragma once

#include "table/csv/csv_options.hpp"

#include <nlsq/formula.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// An expression may read the row number, or the result of a comparison with a text. These numbers take the
// place of a column then. Comparison k has the number kFirstText + k.
inline constexpr std::size_t kFirstText = std::size_t{1} << 40;
inline constexpr std::size_t kRowNumber = kFirstText - 1;

struct ColumnExpression {
  std::string text;                  // as given
  std::vector<std::size_t> columns;  // table columns it reads, from 0; the formula's column k is columns[k]
  std::vector<TextMatch> texts;      // the comparisons with texts
  bool plain = false;                // one column without an expression
  Formula formula;                   // set unless plain
};

// Splits at commas outside parentheses and backquotes, and trims the parts.
std::vector<std::string> split_list(std::string_view text);

// Throws BadData (with `origin`, the position of the header) for a column that does not exist, and UsageError
// for an invalid expression. Messages name `option`: "--x".
ColumnExpression parse_column_expression(std::string_view text, const CsvShape& shape,
                                         const std::string& origin, const std::string& option);

// Returns the name of a column, otherwise "column 2", for messages. An expression is returned as typed.
std::string column_title(const CsvShape& shape, const ColumnExpression& expression);

// Finds the column with that name. If there is none, finds the column that has this name in formulas, where T
// [K] is called T. Returns nothing if there is no such column, or if there are several.
std::optional<std::size_t> find_column(const CsvShape& shape, std::string_view name);

}  // namespace nlsq::cli

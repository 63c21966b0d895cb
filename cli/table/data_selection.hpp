// From a table to the numbers of a fit: columns chosen, expressions evaluated, rows left out.
#pragma once

#include "table/column_expression.hpp"
#include "table/table.hpp"

#include <nlsq/column.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

struct Selection {
  std::string x = "", y = "",
              sigma = "",          // expressions; empty x: column 1, empty y: column 2, empty sigma: none
      sigma_x = "";                // expressions as many as x's; an empty one, or none at all: exact
  std::vector<std::string> where;  // conditions; a row stays where all are true
  std::string range;               // "A:B" on the first x, either side may be empty
};

// Columns are where the table has them, uncopied, unless rows were left out or an expression made them.
struct FitData {
  FitData() = default;
  FitData(FitData&&) = default;
  FitData& operator=(FitData&&) = default;

  std::string source;       // file name, or <stdin>
  std::string description;  // "52 rows, 2 columns, comma, header"; encodings where they are not plain
  CsvShape shape;
  std::vector<ColumnExpression> x;
  ColumnExpression y_expression;
  std::optional<ColumnExpression> sigma_expression;
  std::vector<std::optional<ColumnExpression>> sigma_x_expressions;  // one for each x, or none

  std::vector<Column> predictors;
  Column y, sigma;                            // sigma is empty without --sigma
  std::vector<Column> sigma_x;                // one for each predictor, or none; empty ones are exact
  std::vector<std::shared_ptr<void>> memory;  // what the columns look at
  std::size_t rows() const { return y.size(); }

  std::size_t rows_in_file = 0, dropped_missing = 0, excluded_where = 0, excluded_range = 0;
  std::size_t excluded() const { return dropped_missing + excluded_where + excluded_range; }
  std::size_t underflows = 0;
  std::string first_underflow;
  std::vector<std::size_t> kept;  // rows among those read; empty: all
  LineMap lines;

  // Where row `row` of the fit came from: "file.csv:12", or "file.npy, row 12" where there are no lines.
  std::string place(std::size_t row) const;
};

// Throws BadData or UsageError.
FitData select_data(Table& table, const Selection& selection);

}  // namespace nlsq::cli

// The columns that the expressions of a selection read, and the evaluation of the expressions on them.
// data_selection.cpp uses it.
#pragma once

#include "table/column_expression.hpp"
#include "table/data_selection.hpp"
#include "table/table.hpp"

#include <span>
#include <vector>

namespace nlsq::cli {

using Rows = std::vector<std::size_t>;

// The values of the chosen rows of a column.
std::vector<double> compress(const Column& column, const Rows& rows);

// Makes a column of values and keeps it alive.
Column own(std::vector<double>&& values, FitData& data);

class ReadColumns {
 public:
  void want(const ColumnExpression& expression);
  // Reads everything that is wanted, once.
  TableColumns read(Table& table, FitData& data);
  // Keeps the given rows and frees the memory of the full columns.
  void keep_rows(const Rows& rows, FitData& data);
  Column evaluate(const ColumnExpression& expression, std::size_t rows, FitData& data) const;

 private:
  std::size_t place(const ColumnExpression& expression, std::size_t k) const;

  std::vector<std::size_t> numbers_;  // of columns in the file
  std::vector<TextMatch> texts_;
  bool row_number_ = false;
  std::vector<Column> columns_;  // those of numbers_, those of texts_, then the row number if wanted
};

}  // namespace nlsq::cli

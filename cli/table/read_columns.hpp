// Declares the columns that the expressions of a selection read, and the evaluation of the expressions on
// them. data_selection.cpp uses it.
#pragma once

#include "table/column_expression.hpp"
#include "table/data_selection.hpp"
#include "table/table.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::cli {

using Rows = RowVector<std::size_t>;

// Returns the values of the chosen rows of a column.
RowVector<double> compress(const Column& column, const Rows& rows);

// Makes a column of values and keeps it alive.
Column own(RowVector<double>&& values, FitData& data);

class ReadColumns {
 public:
  void want(const ColumnExpression& expression);
  // Requests an expression that may miss values, which then leave out no row, unless another one needs its
  // columns. This must be called after want().
  void want_if_there(const ColumnExpression& expression);
  // Requests a condition that chooses rows. With one, bad cells in other columns are errors only in rows that
  // are kept.
  void want_condition(const ColumnExpression& expression);
  // Announces that --range chooses rows by x, as a condition does. A bad cell of x is then an error at once,
  // unless a condition may leave out its row. This must be called after want_condition().
  void want_range(const ColumnExpression& x);
  // Requests the column of --group-by, for group().
  void want_group(const ColumnExpression& expression) { group_ = expression.columns[0]; }
  // Reads everything that was requested, once. Sets FitData::lacks_y.
  TableColumns read(Table& table, FitData& data);
  // Keeps the given rows and frees the memory of the full columns.
  void keep_rows(const Rows& rows, FitData& data);
  // Throws BadData where some numbers of a column have a percent sign and others have none, in the rows kept.
  // It examines all columns, or only those of the expression `of`. It stores which of the examined columns
  // have percent signs in FitData::percent_columns.
  void refuse_some_percents(FitData& data, const ColumnExpression* of = nullptr) const;
  // Warns of columns that the fit needs whose numbers are too large for float64 (merged_numbers.hpp).
  void warn_of_merged_numbers(FitData& data) const;
  // Throws BadData if times of day run over midnight in the rows kept, in columns that the fit needs, or in
  // those of them that conditions read, too. Columns that are only compared need no order.
  enum class Times : std::uint8_t { all, in_conditions };
  void refuse_midnight(const FitData& data, Times which) const;
  // Returns the group of each row: numbers of the table, or those of TableColumns::groups.
  const Column& group() const { return columns_[numbers_.size() + texts_.size()]; }
  Column evaluate(const ColumnExpression& expression, std::size_t rows, FitData& data) const;
  // Adds the warnings_of_condition() to the data.
  void warn_of(const ColumnExpression& condition, FitData& data) const;
  // Returns true if the row lacks a number that the expression reads.
  bool is_missing(const ColumnExpression& expression, std::size_t row) const;

 private:
  std::size_t place(const ColumnExpression& expression, std::size_t k) const;
  std::vector<Column> columns_of(const ColumnExpression& expression) const;

  std::vector<std::size_t> numbers_;        // of columns in the file
  std::vector<std::size_t> in_conditions_;  // those of them that conditions read
  bool has_conditions_ = false;
  std::size_t of_fit_ = 0;             // the number of columns that were requested before the first condition
  std::vector<std::size_t> if_there_;  // those of them that may miss values
  std::vector<TextMatch> texts_;
  std::optional<std::size_t> group_;
  bool row_number_ = false;
  // These are the columns of numbers_ and of texts_, then the groups and the row number if wanted.
  std::vector<Column> columns_;
};

}  // namespace nlsq::cli

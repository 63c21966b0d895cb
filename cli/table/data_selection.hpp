// Converts a table to the data of a fit: chooses columns, evaluates expressions, leaves out rows.
// shared_data.cpp uses it.
#pragma once

#include "table/column_expression.hpp"
#include "table/table.hpp"

#include <nlsq/column.hpp>
#include <nlsq/journal.hpp>
#include <nlsq/team.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

struct Selection {
  std::string x, y;                // expressions; empty: the first two columns that are not the group
  std::string sigma, sigma_x;      // expressions, sigma_x one per x; empty: none, or x is exact
  std::vector<std::string> where;  // conditions; rows are kept if all are true
  std::string range;               // "A:B" on the first x; either limit may be empty
  std::string group_by;            // a column, each value of which is fitted by itself; empty: one fit
  // If true, numbers that are not finite are not searched for here. A search takes as long as reading the
  // file, and the fit meets them anyway. If the fit fails, check_finite() finds the first one for the
  // message.
  bool check_later = false;
  bool absolute_sigma = false;  // sigma is in the unit of y, so both need percent signs if one has them
};

// Columns refer to the memory of the table without a copy, unless rows were left out or an expression
// computed them.
struct FitData {
  FitData() = default;
  FitData(FitData&&) = default;
  FitData& operator=(FitData&&) = default;

  std::string source;       // file name, or <stdin>; of several files the first and their number
  std::string description;  // "52 rows, 2 columns, comma, header"; also unusual encodings
  CsvShape shape;
  bool has_text = false;  // whether a file is a text, and no array
  std::vector<ColumnExpression> x;
  ColumnExpression y_expression;
  std::vector<ColumnExpression> more_y_expressions;  // the second y of --y a,b,c and those after it
  std::optional<ColumnExpression> sigma_expression;
  std::vector<std::optional<ColumnExpression>> sigma_x_expressions;  // one for each x, or empty

  std::vector<Column> predictors;
  Column y;
  std::vector<Column> more_y;   // of more_y_expressions
  Column sigma;                 // sigma is empty without --sigma
  std::vector<Column> sigma_x;  // one for each predictor, or empty; an empty column means exact values
  // With --group-by, a number for each row, and the texts to which these numbers refer. If there are no
  // texts, the numbers are the groups themselves.
  Column group;
  std::vector<std::string> group_texts;
  std::optional<ColumnExpression> group_expression;
  std::vector<std::shared_ptr<void>> memory;  // owners of the memory of the columns
  std::size_t rows() const { return y.size(); }
  bool unchecked = false;  // numbers may be not finite

  std::size_t rows_in_file = 0, dropped_missing = 0, excluded_where = 0, excluded_range = 0;
  std::size_t excluded() const { return dropped_missing + excluded_where + excluded_range; }
  bool lacks_y = false;  // a row may lack some of several responses, which are then NaN
  std::size_t missing_y = 0, rows_before_stack = 0;  // set by stack_responses()
  std::size_t underflows = 0;
  std::string first_underflow;
  std::vector<std::string> warnings;         // about comparisons in conditions
  RowVector<std::size_t> kept;               // indices of the rows kept among those read; empty: all
  std::vector<std::size_t> percent_columns;  // numbers of columns with percent signs in the rows kept
  TableColumns read;  // the table that was read, without its columns: rows by file, and their lines
  // Several processes divide the passes of the fit with this team, which is null in a single process. If they
  // have divided the rows, too, `place_in_all` gets the place from the process that has the row.
  std::shared_ptr<Team> team;
  std::shared_ptr<Journal> journal;  // of --checkpoint
  std::function<std::string(std::size_t)> place_in_all;

  // Returns true if the expression reads a column with percent signs.
  bool has_percents(const ColumnExpression& expression) const;
  // Returns the column_title() of an expression, and says if its numbers are fractions for percentages.
  std::string title(const ColumnExpression& expression) const;
  // Returns the first date of predictor k, or null if this predictor is not a column of dates.
  const TimeOrigin* time_of_x(std::size_t k) const {
    return x[k].plain ? shape.time(x[k].columns[0]) : nullptr;
  }
  // Returns the origin of row `row` of the fit: "file.csv:12", or "file.npy, row 12" for files without lines.
  std::string place(std::size_t row) const;
};

// Returns true if the selection has groups, or several responses unless a column has that whole name.
bool may_have_groups(const Selection& selection);

// Throws BadData, with the place of the first one, if a number that is fitted is not finite.
void check_finite(const FitData& data);

// Selects the data of a fit. Throws BadData or UsageError.
FitData select_data(Table& table, const Selection& selection);

}  // namespace nlsq::cli

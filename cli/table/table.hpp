// Declares a table of numbers, independent of the kind of file. data_selection.cpp reads it.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/csv/csv_rows.hpp"
#include "table/scratch/scratch_memory.hpp"
#include "table/source/byte_source.hpp"

#include <nlsq/column.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Columns in their own memory or in the mapped file.
struct TableColumns {
  std::vector<Column> columns;                // in the requested order
  std::vector<std::shared_ptr<void>> memory;  // owners of the memory of the columns
  std::size_t rows = 0;
  std::size_t dropped_missing = 0;        // rows left out by MissingPolicy::drop
  std::size_t underflows = 0;             // numbers too small for a double, read as 0
  std::string first_underflow;            // its text and line
  LineMap lines;                          // of each row, if the file has lines
  RowVector<std::size_t> kept;            // indices of the rows kept in the file; empty: all
  RowVector<std::size_t> dropped_before;  // otherwise, for each row left out, the index of the row behind it
  // The texts to which the values of the column of groups refer. If empty, that column has numbers of its
  // own.
  std::vector<std::string> groups;
  // Rows with bad cells of columns that are judged later, in order, and the messages about them.
  std::vector<std::pair<std::size_t, std::string>> late_faults;
  PercentRows percents;
  bool finite = true;  // no NaN and no infinity, for certain
  std::string name;    // of the file
  // If several processes read a file: the lines that this one read, and the rows that others read before.
  std::size_t lines_read = 0, rows_before = 0;
  // If several files make the table: what was read of each, in order, without its columns. Then the rows
  // above count those of all files, and `lines`, `kept` and `dropped_before` are empty.
  std::vector<TableColumns> files;

  std::size_t rows_in_file() const { return rows + dropped_missing; }
  // Returns the number of row `i` among all rows of the table, from 1.
  double row_number(std::size_t i) const;
  // Returns the origin of row `i`: "file.csv:12", or "file.npy, row 12" for files without lines.
  std::string place(std::size_t i) const;

  // Adds values as one more column and keeps them alive.
  template <class Values>
  void own(Values&& values) {
    auto kept_alive = std::make_shared<std::remove_cvref_t<Values>>(std::move(values));
    columns.emplace_back(*kept_alive);
    memory.push_back(std::move(kept_alive));
  }
};

class Table {
 public:
  virtual ~Table() = default;
  virtual const CsvShape& shape() const = 0;
  virtual const std::string& name() const = 0;
  // Returns the position of the column names, for messages.
  virtual const std::string& origin() const = 0;
  // Returns "52 rows, 2 columns, delimiter comma, header", after reading.
  virtual std::string describe(const TableColumns& read) const = 0;
  // Reads the columns with these numbers (from 0), then one column for each comparison with a text, then the
  // column `group`. May be called once. Throws BadData.
  virtual TableColumns read(std::span<const std::size_t> columns, std::span<const TextMatch> texts = {},
                            std::optional<std::size_t> group = {}) = 0;
  // Returns true if it is a text, or one of its files is.
  virtual bool has_text() const { return false; }
  // Reads dates of these columns as seconds since these moments, which an earlier file of the same table
  // determined. Returns false if the table has numbers only.
  virtual bool take_times(std::vector<std::optional<TimeOrigin>>) { return false; }
  // With MissingPolicy::drop, reads missing values of these columns as NaN instead of leaving out their rows,
  // and returns true. Otherwise nothing changes, and it returns false.
  virtual bool keep_missing(std::vector<std::size_t> columns) = 0;
  // Reads bad cells of these columns as NaN and notes them in TableColumns::late_faults, so that they are
  // errors only if their rows are fitted. Of columns in conditions it does so with infinite cells, which stay
  // as they are. Tables of numbers have no bad cells but NaN.
  virtual void judge_later(std::vector<std::size_t> /*columns*/, std::vector<std::size_t> /*in_conditions*/) {
  }
};

// Returns the numbers of the columns to read if a column of groups is read as any other.
std::vector<std::size_t> with_group(std::span<const std::size_t> columns, std::optional<std::size_t> group);

// Returns the first given option about the form of a text, or an empty text.
std::string option_of_text(const CsvOptions& csv);

// Throws UsageError if there is such an option. `name` is that of the file that is no text.
void refuse_options_of_text(const CsvOptions& csv, const std::string& name);

// Opens a delimited text table, a .npy or a .npz file, according to the source. Throws BadData.
std::unique_ptr<Table> open_table(OpenedSource source, const CsvOptions& options);

}  // namespace nlsq::cli

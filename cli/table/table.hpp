// A table of numbers, whatever kind of file it comes from.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/csv/csv_rows.hpp"
#include "table/source/byte_source.hpp"

#include <nlsq/column.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

// Columns where they are: in memory of their own, or in the file itself.
struct TableColumns {
  std::vector<Column> columns;                // in the order asked for
  std::vector<std::shared_ptr<void>> memory;  // what they look at
  std::size_t rows = 0;
  std::size_t dropped_missing = 0;  // rows left out by MissingPolicy::drop
  std::size_t underflows = 0;       // numbers too small for a double, read as 0
  std::string first_underflow;      // its text and line
  LineMap lines;                    // of each row, where the file has lines
  std::vector<std::size_t> kept;    // rows of the file that are left; empty: all
  bool finite = true;               // known to be: no NaN, no infinity

  // Takes over values as one more column.
  template <class T>
  void own(std::vector<T>&& values) {
    auto kept_alive = std::make_shared<std::vector<T>>(std::move(values));
    columns.emplace_back(*kept_alive);
    memory.push_back(std::move(kept_alive));
  }
};

class Table {
 public:
  virtual ~Table() = default;
  virtual const CsvShape& shape() const = 0;
  virtual const std::string& name() const = 0;
  // Where the columns are named, for messages about them.
  virtual const std::string& origin() const = 0;
  // "52 rows, 2 columns, delimiter comma, header"
  virtual std::string describe(std::size_t rows) const = 0;
  // The columns with these numbers (from 0). Once. Throws BadData.
  virtual TableColumns read(std::span<const std::size_t> columns) = 0;
};

// CSV and its kin, or .npy, by what the source turned out to be. Throws BadData.
std::unique_ptr<Table> open_table(OpenedSource source, const CsvOptions& options);

}  // namespace nlsq::cli

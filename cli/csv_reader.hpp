// Reads chosen columns of a delimited text table into doubles. One pass, in blocks; memory is that of the
// chosen columns. Every refusal names file:line:column, the text in question, and what would mend it.
#pragma once

#include "csv_dialect.hpp"
#include "csv_fields.hpp"
#include "csv_options.hpp"
#include "csv_text.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Which line of the file each row came from, kept only where the rows skip lines.
class LineMap {
 public:
  void add(std::size_t row, std::size_t line) {
    if (runs_.empty() || line - runs_.back().second != row - runs_.back().first)
      runs_.emplace_back(row, line);
  }
  std::size_t line(std::size_t row) const;  // 0 when unknown

 private:
  std::vector<std::pair<std::size_t, std::size_t>> runs_;  // (first row, its line), one line a row from there
};

struct CsvColumns {
  std::vector<std::vector<double>> values;  // in the order asked for
  std::size_t rows = 0;
  std::size_t dropped_missing = 0;  // rows left out by MissingPolicy::drop
  std::size_t underflows = 0;       // numbers too small for a double, read as 0
  std::string first_underflow;      // file:line:column and its text
  LineMap lines;
};

class CsvReader {
 public:
  // Looks at the first lines. Throws BadData: nothing there, a header that names two columns alike.
  CsvReader(OpenedSource source, const CsvOptions& options);

  const CsvShape& shape() const { return shape_; }
  const OpenedSource& source() const { return text_.source(); }
  // Position of the header or first row, "name:line:column", for messages about columns.
  const std::string& origin() const { return origin_; }

  // Reads all rows of the columns with these numbers (from 0). Once.
  CsvColumns read(std::span<const std::size_t> columns);

 private:
  enum class Outcome { row, dropped, need_more };

  void skip_lines();
  void fill_sample();
  void take_header(const std::vector<SampleRecord>& records);
  Outcome read_record(const char*& p, std::size_t& lines);
  void store_slowly(const Field& field, std::size_t column, std::size_t slot);
  [[noreturn]] void refuse(const Field& field, std::size_t column, NumberStatus status) const;
  [[noreturn]] void refuse_ragged(const char* at, std::size_t found, bool more) const;
  void reserve(CsvColumns& out) const;

  CsvText text_;
  CsvOptions options_;
  CsvShape shape_;
  FieldScanner scanner_;
  std::string origin_;
  std::size_t sample_record_bytes_ = 2;  // mean over the first records
  std::size_t shape_line_ = 1;           // the line that fixed the number of columns

  // While reading: slot_of_[column] is the place among the chosen columns, or -1.
  std::vector<int> slot_of_;
  std::vector<double> row_;
  bool row_missing_ = false;
  std::size_t row_underflows_ = 0;
  std::string row_underflow_;
};

}  // namespace nlsq::cli

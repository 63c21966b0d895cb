// The rows of a stretch of text as numbers, wherever in the input it stands.
#pragma once

#include "table/csv/csv_record.hpp"

#include <cstddef>
#include <memory>
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
  // The rows of `other` from `row` on, whose lines count from `line`.
  void append(const LineMap& other, std::size_t row, std::size_t line);
  void clear() { runs_.clear(); }
  std::size_t line(std::size_t row) const;  // 0 when unknown

 private:
  std::vector<std::pair<std::size_t, std::size_t>> runs_;  // (first row, its line), one line a row from there
};

// Rows and lines count from 0 here: the first line is that of the text's first byte.
struct CsvRows {
  std::size_t count = 0, lines = 0, dropped_missing = 0, underflows = 0;
  std::size_t first_underflow_line = 0;
  std::string first_underflow;
  LineMap line_of;
  std::size_t used = 0;   // bytes of the text that were dealt with
  bool at_fault = false;  // what stands at `used` cannot be read; otherwise the text ends there
  const double* column(std::size_t k) const { return values_.get() + k * stride_; }

  // Parses as many whole records of `text` as come before a fault. Text that ends in the middle of a record
  // is none.
  void parse(const CsvLayout& layout, const CsvView& text);

 private:
  void parse_records(const CsvLayout& layout, const CsvView& text);
  void make_room(const CsvLayout& layout, const CsvView& text);

  std::unique_ptr<double[]> values_;
  std::size_t stride_ = 0, capacity_ = 0;
};

}  // namespace nlsq::cli

// Holds the rows of a piece of text as numbers, independent of its position in the input. CsvCollector joins
// them.
#pragma once

#include "table/csv/csv_record.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Finds the line of the file for each row. It is stored only where rows skip lines.
class LineMap {
 public:
  void add(std::size_t row, std::size_t line) {
    if (runs_.empty() || line - runs_.back().second != row - runs_.back().first)
      runs_.emplace_back(row, line);
  }
  // Appends `other`: its rows start at `row`, and its lines count from `line`.
  void append(const LineMap& other, std::size_t row, std::size_t line);
  void clear() { runs_.clear(); }
  // Adds to every line: other processes read so many lines of the file before these.
  void shift(std::size_t lines) {
    for (auto& run : runs_) run.second += lines;
  }
  std::size_t line(std::size_t row) const;  // 0 if unknown

 private:
  // These are pairs (first row, its line); from there, each row takes one line.
  std::vector<std::pair<std::size_t, std::size_t>> runs_;
};

// This is a set of rows, stored as runs of consecutive ones.
class RowRuns {
 public:
  // Rows are added in rising order; the last one may be added again.
  void add(std::size_t row) { add(row, row + 1); }
  void append(const RowRuns& other, std::size_t offset) {
    for (const auto& [first, end] : other.runs_) add(first + offset, end + offset);
  }
  bool contains(std::size_t row) const;

 private:
  void add(std::size_t first, std::size_t end) {
    if (!runs_.empty() && first <= runs_.back().second) runs_.back().second = end;
    else runs_.emplace_back(first, end);
  }
  std::vector<std::pair<std::size_t, std::size_t>> runs_;  // first row, and the one behind the last
};

// For some of the columns that were read, by their index among these, the rows with a percent sign.
using PercentRows = std::vector<std::pair<std::size_t, RowRuns>>;
RowRuns& rows_of(PercentRows& percents, std::size_t column);

// Rows and lines count from 0. Line 0 is that of the text's first byte.
struct CsvRows {
  std::size_t count = 0, lines = 0, underflows = 0;
  std::size_t first_underflow_line = 0;
  std::string first_underflow;
  LineMap line_of;
  std::vector<std::size_t> dropped_before;  // for each row left out, the index of the row behind it
  std::size_t used = 0;                     // processed bytes of the text
  // Bad cells that are judged later: their rows, lines and columns, and what is wrong with them.
  struct RowFault {
    std::size_t row, line, column;
    std::string message;
  };
  std::vector<RowFault> late_faults;
  PercentRows percents;
  TextIndex groups;       // the texts that the column of groups stands for
  bool at_fault = false;  // the record at `used` is invalid; otherwise the text ends there
  const double* column(std::size_t k) const { return values_.get() + k * stride_; }

  // Parses the complete records of `text` up to the first fault. An incomplete record at the end is not a
  // fault.
  void parse(const CsvLayout& layout, const CsvView& text);

 private:
  void parse_records(const CsvLayout& layout, const CsvView& text);
  void make_room(const CsvLayout& layout, const CsvView& text);

  std::unique_ptr<double[]> values_;
  std::size_t stride_ = 0, capacity_ = 0;
};

}  // namespace nlsq::cli

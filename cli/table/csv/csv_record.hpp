// Parses one record of a table: finds its fields, converts the chosen ones to numbers, reports errors.
// CsvRows uses it.
#pragma once

#include "table/csv/csv_fields.hpp"
#include "table/csv/csv_options.hpp"
#include "table/csv/csv_view.hpp"
#include "table/numbers/number_run.hpp"

#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

// The properties that all records of a table share.
struct CsvLayout {
  CsvOptions options;
  CsvShape shape;
  std::size_t shape_line = 1;  // the line that determined the number of columns
  std::vector<int> slot_of;    // index of each column among the chosen ones, or -1
  std::size_t slots = 0;       // number of chosen columns
};

class RecordParser {
 public:
  // Both must outlive the parser.
  RecordParser(const CsvLayout& layout, const CsvView& text);

  enum class Outcome { row, dropped, need_more };

  // Reads the record at `p` and moves `p` past it. Adds its lines to `lines`. Chosen column k goes to out[k *
  // stride]. need_more: the text ends inside the record, and nothing has moved. Throws BadData.
  Outcome read(const char*& p, std::size_t& lines, double* out, std::size_t stride);

  // For the last record: the count of numbers too small for a double, and the text of the first of them.
  std::size_t underflows() const { return underflows_; }
  const std::string& underflow() const { return underflow_; }
  // The quote that was still open when the text ended, or null.
  const char* open_quote() const { return scanner_.open_quote(); }

 private:
  void store_slowly(const Field& field, std::size_t column, double& value);
  [[noreturn]] void refuse(const Field& field, std::size_t column, NumberStatus status) const;
  [[noreturn]] void refuse_ragged(const char* at, std::size_t found, bool more) const;

  const CsvLayout& layout_;
  const CsvView& text_;
  FieldScanner scanner_;
  ReadNumberRun read_run_ = nullptr;  // null: numbers are read one by one
  NumberRun run_;
  const char* record_ = nullptr;  // start of the record
  bool missing_ = false;
  std::size_t underflows_ = 0;
  std::string underflow_;
};

}  // namespace nlsq::cli

// Reads chosen columns of a delimited text table into doubles, in one pass, in blocks, on all cores. Memory
// is that of the chosen columns. Every error names file:line:column, the text, and a remedy.
#pragma once

#include "table/csv/csv_collector.hpp"
#include "table/csv/csv_dialect.hpp"
#include "table/csv/csv_options.hpp"
#include "table/csv/csv_text.hpp"

#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

class CsvReader {
 public:
  // Reads the first lines. Throws BadData for an empty input and for a header with two equal names.
  CsvReader(OpenedSource source, const CsvOptions& options);

  const CsvShape& shape() const { return layout_.shape; }
  const OpenedSource& source() const { return text_.source(); }
  // Position of the header or first row, "name:line:column", for messages about columns.
  const std::string& origin() const { return origin_; }

  // Reads all rows of the columns with these numbers (from 0). May be called once.
  CsvColumns read(std::span<const std::size_t> columns);

 private:
  void skip_lines();
  void find_first_record();
  void take_header(const std::vector<SampleRecord>& records);

  CsvText text_;
  CsvLayout layout_;
  std::string origin_;
  std::size_t sample_record_bytes_ = 2;  // mean of the first records
};

}  // namespace nlsq::cli

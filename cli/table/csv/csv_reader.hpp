// Reads chosen columns of a delimited text table into doubles, in one pass, in blocks, on all cores. Memory
// is that of the chosen columns. Every error names file:line:column, the text, and a remedy.
#pragma once

#include "table/csv/csv_collector.hpp"
#include "table/csv/csv_dialect.hpp"
#include "table/csv/csv_options.hpp"
#include "table/csv/csv_text.hpp"

#include <optional>
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
  // Returns the position of the header or first row, "name:line:column", for messages about columns.
  const std::string& origin() const { return origin_; }

  // Counts the seconds of these columns from these moments, instead of the first ones of the text.
  void take_times(std::vector<std::optional<TimeOrigin>> times) { layout_.shape.times = std::move(times); }

  // Reads missing values of these columns as NaN, where rows with missing values are left out otherwise.
  void keep_missing(std::vector<std::size_t> columns) { layout_.keeps_missing = std::move(columns); }

  // Reads bad cells of `columns` as NaN, and infinite cells of `in_conditions` as they are. What is wrong
  // with these cells is then in CsvColumns::late_faults.
  void judge_later(std::vector<std::size_t> columns, std::vector<std::size_t> in_conditions) {
    layout_.judged_later = std::move(columns);
    layout_.may_be_infinite = std::move(in_conditions);
  }

  // Reads all rows of the columns with these numbers (from 0), then those of the comparisons with texts, then
  // the column `group`, whose texts are numbered. It may be called once.
  CsvColumns read(std::span<const std::size_t> columns, std::span<const TextMatch> texts = {},
                  std::optional<std::size_t> group = {});

 private:
  void skip_lines();
  [[noreturn]] void fail_skip(std::size_t lines) const;
  void find_first_record();
  void take_excel_separator();
  bool take_header(const std::vector<SampleRecord>& records);
  void take_names(const SampleRecord& first);
  bool take_names_from_comment(const SampleRecord& first);
  void take_units(const std::vector<SampleRecord>& records);

  CsvText text_;
  CsvLayout layout_;
  std::string origin_;
  std::size_t sample_record_bytes_ = 2;  // mean of the first records
  std::optional<char> excel_separator_;  // of the line "sep=;"
  std::string comment_before_data_;      // the line just before the first record, if it is a comment
};

}  // namespace nlsq::cli

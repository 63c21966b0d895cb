// Joins the rows of blocks. Each block is parsed as if a record began at its start. If the previous record
// continues into it (a line ending inside quotes), the block's text is appended to the open text and parsed
// again. The table, and the fault if any, are those of the whole text.
#pragma once

#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_rows.hpp"
#include "table/scratch/scratch_memory.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

struct CsvColumns {
  std::vector<RowVector<double>> values;  // in the requested order
  std::size_t rows = 0;
  std::size_t dropped_missing = 0;  // rows left out by MissingPolicy::drop
  std::size_t underflows = 0;       // numbers too small for a double, read as 0
  std::string first_underflow;      // its text and line
  LineMap lines;
  std::size_t lines_read = 0;
  RowVector<std::size_t> dropped_before;  // for each row left out, the index of the row behind it
  // Rows with cells that are judged later, and what to say if one of them is fitted.
  std::vector<std::pair<std::size_t, std::string>> late_faults;
  PercentRows percents;
  std::vector<std::string> groups;  // the texts that the values of the column of groups number
};

class CsvCollector {
 public:
  // `line` is the number of the first block's first line. `layout` and `source` must outlive the collector.
  CsvCollector(const CsvLayout& layout, const OpenedSource& source, std::size_t line);

  // Returns the text of a block, to be parsed before accept(). This may be called at any time.
  CsvView view(const Block& block) const;
  // Takes blocks in order, each with the rows parsed from view(block). Throws BadData.
  void accept(const Block& block, const CsvRows& rows);
  // Reserves memory for that many rows.
  void reserve(std::size_t rows);
  // Must be called after the last block. Throws BadData if there are no rows.
  void finish();
  CsvColumns& columns() { return out_; }

 private:
  void take(const CsvRows& rows);
  void take_groups(const CsvRows& rows, std::size_t slot);
  void read_open_text(const Block& block);
  bool must_tell(const Block& block, bool at_fault);
  [[noreturn]] void tell(const Block& block);
  CsvView view(const TextBuffer& text, BlockEnd end, std::size_t line) const;

  const CsvLayout& layout_;
  const OpenedSource& source_;
  CsvColumns out_;
  std::size_t line_;  // of the first byte that is not processed
  std::size_t first_line_;
  TextBuffer open_;  // text that is not processed
  CsvRows again_;
  TextIndex groups_;
  std::size_t enough_ = 0;      // size of open_ from which it is parsed again
  std::size_t fault_size_ = 0;  // size of open_ when a fault was first found in it; 0: none
};

}  // namespace nlsq::cli

// Puts the rows of blocks together. A block is read as if a record began with it; where it turns out that
// the record before is not over (a line ending inside quotes), its text is joined to what is open and read
// again. The table, and the fault told if there is one, are those of the text as a whole.
#pragma once

#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_rows.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

struct CsvColumns {
  std::vector<std::vector<double>> values;  // in the order asked for
  std::size_t rows = 0;
  std::size_t dropped_missing = 0;  // rows left out by MissingPolicy::drop
  std::size_t underflows = 0;       // numbers too small for a double, read as 0
  std::string first_underflow;      // its text and line
  LineMap lines;
};

class CsvCollector {
 public:
  // `line`: of the first block's first byte. `layout` and `source` must outlive the collector.
  CsvCollector(const CsvLayout& layout, const OpenedSource& source, std::size_t line);

  // The text of a block, for the parsing that goes before accept(). May be called at any time.
  CsvView view(const Block& block) const;
  // Takes the blocks in their order, each with what was parsed from view(block). Throws BadData.
  void accept(const Block& block, const CsvRows& rows);
  // Room for that many rows.
  void reserve(std::size_t rows);
  // Behind the last block. Throws BadData where there are no rows.
  void finish();
  CsvColumns& columns() { return out_; }

 private:
  void take(const CsvRows& rows);
  void read_open_text(const Block& block);
  bool must_tell(const Block& block, bool at_fault);
  [[noreturn]] void tell(const Block& block);
  CsvView view(const TextBuffer& text, BlockEnd end, std::size_t line) const;

  const CsvLayout& layout_;
  const OpenedSource& source_;
  CsvColumns out_;
  std::size_t line_;  // of the first byte that has not been dealt with
  TextBuffer open_;   // text that has not been dealt with
  CsvRows again_;
  std::size_t enough_ = 0;      // size of open_ from which reading it again is worth while
  std::size_t fault_size_ = 0;  // size of open_ when a fault was first seen in it; 0: none
};

}  // namespace nlsq::cli

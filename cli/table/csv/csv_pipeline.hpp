// Reads, parses and joins the blocks of a table in parallel. CsvReader uses it.
#pragma once

#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_collector.hpp"

namespace nlsq::cli {

// Reads every block of `source` into `collector` on at most `threads` threads (0: all cores; 1: none is
// started, and none for an input of a single block). The table and the error reported do not depend on the
// threads. Memory is that of the table and a few blocks.
void read_blocks(BlockSource& source, const CsvLayout& layout, CsvCollector& collector, int threads);

}  // namespace nlsq::cli

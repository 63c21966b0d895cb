// Reading, parsing and putting together at the same time.
#pragma once

#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_collector.hpp"

namespace nlsq::cli {

// Reads every block of `source` into `collector` on at most so many threads (0: as many as the machine has; 1
// starts none, nor does an input of a single block). The table and the fault told do not depend on them.
// Memory is that of the table and a few blocks.
void read_blocks(BlockSource& source, const CsvLayout& layout, CsvCollector& collector, int threads);

}  // namespace nlsq::cli

// Large mapped files, and how the system reads them ahead.
//
// A pass over all rows is faster if the system reads far ahead. In a pass over a sample, each read ahead
// would bring megabytes from the disk for a few rows. The solver announces which pass comes
// (RowSource::expect_gaps).
#pragma once

#include <nlsq/column.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace nlsq::cli {

// States whether pages that a pass has read go back to the system, as those of files larger than memory do.
enum class ReadPages : bool { stay, go_back };
// From now on this memory, which maps a file, is read ahead unless gaps are expected.
void add_large_mapping(void* memory, std::size_t bytes, ReadPages pages);
void remove_large_mapping(void* memory) noexcept;
bool has_large_mappings() noexcept;

// Returns the same columns, of equal length, as columns of a row source that passes the solver's hints on to
// all large mappings. `owner` must outlive them.
std::vector<Column> hinted_columns(const std::vector<Column>& columns, std::shared_ptr<void>& owner);

}  // namespace nlsq::cli

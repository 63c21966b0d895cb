// Checks that all numbers of a column have percent signs, or none.
#pragma once

#include "table/table.hpp"

#include <nlsq/column.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace nlsq::cli {

// Returns true if some number of a column has a percent sign. Throws BadData if another, which is not 0, has
// none. `label` names the column. has_sign(i) and place(i) give the sign and the place of row i.
bool has_percents(const Column& values, const std::string& label,
                  const std::function<bool(std::size_t)>& has_sign,
                  const std::function<std::string(std::size_t)>& place);

// Throws BadData if has_percents() does, for any column of a table that was read. Column k of `read` is
// column numbers[k] of the file.
void refuse_mixed_percents(const TableColumns& read, const CsvShape& shape,
                           std::span<const std::size_t> numbers);

}  // namespace nlsq::cli

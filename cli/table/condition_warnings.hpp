// Finds comparisons in conditions of --where that may not mean what they seem to.
#pragma once

#include "table/column_expression.hpp"

#include <nlsq/column.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

// Returns warnings about two kinds of comparison in a condition. In one, a column with percent signs, whose
// 5% is 0.05, is compared with a number of 1 or more, or with a column without such signs. In the other,
// whole numbers so large count as equal that float64 does not tell them apart from their neighbours.
// `columns` are those of the expression, and has_signs(k) says whether its column k has percent signs.
std::vector<std::string> warnings_of_condition(const ColumnExpression& condition, const CsvShape& shape,
                                               std::span<const Column> columns,
                                               const std::function<bool(std::size_t)>& has_signs);

}  // namespace nlsq::cli

// Runs a formula's steps as typed, by the C library, over blocks of rows: column expressions, filters,
// and fitted values. Slower than a tile program, and with nothing between it and what the user wrote.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/formula.hpp>

#include <span>

namespace nlsq::cli {

// out[i] = the formula's right side at row i; every column has at least out.size() values.
void evaluate_rows(const Formula& formula, std::span<const Column> columns,
                   std::span<const double> parameters, std::span<double> out);

// out[i] = its left side at row i (y itself where it has none); columns as above, then y.
void evaluate_response_rows(const Formula& formula, std::span<const Column> columns_and_y,
                            std::span<double> out);

}  // namespace nlsq::cli

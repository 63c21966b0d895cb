// Evaluates formulas as typed, with the C library, over blocks of rows: column expressions, filters, and
// fitted values. It is slower than a tile program, but it computes exactly what the user wrote.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/formula.hpp>

#include <span>

namespace nlsq::cli {

// Sets out[i] to the formula's right side at row i. Every column has at least out.size() values.
void evaluate_rows(const Formula& formula, std::span<const Column> columns,
                   std::span<const double> parameters, std::span<double> out);

// Sets out[i] to its left side at row i (y itself without a left side). The columns are those above, then y.
void evaluate_response_rows(const Formula& formula, std::span<const Column> columns_and_y,
                            std::span<double> out);

}  // namespace nlsq::cli

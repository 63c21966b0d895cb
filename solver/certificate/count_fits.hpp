// Declares functions that only fits of counts (Loss::poisson) need.
#pragma once

#include "rows/row_model.hpp"

#include <nlsq/column.hpp>

#include <span>
#include <string>

namespace nlsq::inline v0 {

// Returns 2 Σ y ln(y/ȳ), the deviance of counts about their mean. The counts are column `y` of `data`.
double constant_deviance(const RowSource& data, int y);

// Returns a message if the curve is all but 0 in a row without counts, else an empty string. The likelihood
// of such a row grows until the curve reaches 0, and beyond 0 it is not defined. So there may be no minimum
// with a gradient of 0. `rows` have the residuals f - y, without a loss. Reads all rows.
std::string message_of_zero(const RowModel& rows, const RowSource& data, int y, std::span<const double> x);

}  // namespace nlsq::inline v0

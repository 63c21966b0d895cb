// What only fits of counts (Loss::poisson) need.
#pragma once

#include "rows/row_model.hpp"

#include <nlsq/column.hpp>

#include <span>
#include <string>

namespace nlsq::inline v0 {

// 2 Σ y ln(y/ȳ): the deviance of counts about their mean, column `y` of `data`.
double constant_deviance(const RowSource& data, int y);

// If the curve is all but 0 in a row without counts, the message that says so, else an empty one. The
// likelihood of such a row grows until the curve reaches 0, where it ends, so there may be no minimum with a
// gradient of 0. `rows` have the residuals f - y, without a loss. Reads all rows.
std::string message_of_zero(const RowModel& rows, const RowSource& data, int y, std::span<const double> x);

}  // namespace nlsq::inline v0

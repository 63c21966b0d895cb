// A first guess for counts: their expectation must be positive in every row.
#pragma once

#include <nlsq/models.hpp>

#include <vector>

namespace nlsq::inline v0::guessing {

// Raises the model's constant until the curve is positive in every row, if it has a constant and the curve is
// not. A straight line through small counts is below 0 at one end, for example. Reads all rows.
void make_positive(const Model& model, const Columns& x, const Column& y, std::vector<double>& values);

}  // namespace nlsq::inline v0::guessing

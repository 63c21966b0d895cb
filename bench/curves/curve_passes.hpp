// Single passes over a curve's rows, beside loops fused by hand for its model.
#pragma once

#include "curves/curve_data.hpp"
#include "harness.hpp"

namespace bench {

// Adds their rows and goals to the report, of suite "curve".
void run_passes(const CurveCase& c, std::size_t rows, const Settings& settings);

}  // namespace bench

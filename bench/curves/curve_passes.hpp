// Times single passes over a curve's rows against loops written by hand. suite_curve.cpp uses it.
#pragma once

#include "curves/curve_data.hpp"
#include "harness.hpp"

namespace bench {

// Adds rows and goals of suite "curve" to the report.
void run_passes(const CurveCase& c, std::size_t rows, const Settings& settings);

}  // namespace bench

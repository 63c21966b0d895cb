// The values of a vector function and of its derivatives at one point.
#pragma once

#include "rows/calls/fallback_rows.hpp"

#include <vector>

namespace nlsq::inline v0 {

struct VectorRows::Evaluation {
  std::vector<double> x;
  std::vector<double> residuals;
  std::vector<std::vector<double>> derivatives;  // for each free parameter; empty if not requested
  bool one_sided = false;                        // derivatives by steps to one side, while x is far
  double error = 0;                              // RowModel::derivative_error
  // By free parameter: differences to both sides less those to one side, with steps of `shares`. Empty if
  // some parameter has differences to one side only.
  std::vector<std::vector<double>> bends;
  std::vector<double> shares;
};

}  // namespace nlsq::inline v0

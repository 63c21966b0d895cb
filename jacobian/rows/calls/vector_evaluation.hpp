// The values of a vector function and of its derivatives at one point.
#pragma once

#include "rows/calls/fallback_rows.hpp"

#include <vector>

namespace nlsq::inline v0 {

struct VectorRows::Evaluation {
  std::vector<double> x;
  std::vector<double> residuals;
  double squares = 0;                            // the sum of their squares
  std::vector<std::vector<double>> derivatives;  // for each free parameter; empty if not requested
  bool one_sided = false;                        // derivatives by steps to one side, while x is far
  double error = 0;                              // RowModel::derivative_error
  // For each free parameter, how much the derivative by differences to both sides exceeds the one by
  // differences to one side. Both have steps of `shares`. It is empty if some parameter has differences to
  // one side only.
  std::vector<std::vector<double>> bends;
  std::vector<double> shares;
};

}  // namespace nlsq::inline v0

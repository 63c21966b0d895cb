// What a vector function and its derivatives are at one point.
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
  // What differences to both sides have added to those to one side, by free parameter, with steps of
  // `shares`. Empty if they were not taken everywhere.
  std::vector<std::vector<double>> bends;
  std::vector<double> shares;
};

}  // namespace nlsq::inline v0

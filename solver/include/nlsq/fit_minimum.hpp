// FitMinimum: one of the minima that several starts of a fit found.
#pragma once

#include <nlsq/summary.hpp>

#include <vector>

namespace nlsq::inline v0 {

// One entry for all starts that ended at the same point.
struct FitMinimum {
  // in the model's order
  std::vector<double> parameters;
  double cost = 0;  // ½‖r‖², with a loss ½ Σ ρ
  Verdict verdict = Verdict::failed;
  int starts = 1;       // number of starts that ended here
  int first_start = 0;  // index of the first of them; 0: p0
};

}  // namespace nlsq::inline v0

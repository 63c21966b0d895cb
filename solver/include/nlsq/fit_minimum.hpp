// What several starts of one fit ended in.
#pragma once

#include <nlsq/summary.hpp>

#include <vector>

namespace nlsq::inline v0 {

// One entry for all starts that ended at the same point.
struct FitMinimum {
  std::vector<double> parameters;
  double cost = 0;  // ½‖r‖²
  Verdict verdict = Verdict::failed;
  int starts = 1;       // that ended here
  int first_start = 0;  // 0: p0
};

}  // namespace nlsq::inline v0

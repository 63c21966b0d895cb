// From rows to a certified minimum: the attempts a solve is made of.
#pragma once

#include "minimizer.hpp"

#include <nlsq/row_model.hpp>

#include <vector>

namespace nlsq::inline v0 {

struct SolveRequest {
  RowModel& rows;
  Vector x0;                // free parameters
  std::vector<int> linear;  // those of them that enter linearly together
  const SolverOptions& options;
  bool unit_sigma = false;
};

// Solves for the linear parameters, minimizes, and, where that ends without a certificate, tries once
// more from the start as given with geodesic acceleration; the better result is returned.
MinimizerResult solve(const SolveRequest& request);

}  // namespace nlsq::inline v0

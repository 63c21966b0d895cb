// From rows to a certified minimum: the attempts a solve is made of.
#pragma once

#include "dense/data_survey.hpp"
#include "dense/dense_evaluator.hpp"
#include "minimizer/box.hpp"
#include "minimizer/loop.hpp"

#include "rows/row_model.hpp"

#include <functional>
#include <vector>

namespace nlsq::inline v0 {

struct SolveRequest {
  RowModel& rows;
  Vector x0;                // free parameters
  std::vector<int> linear;  // those of them that enter linearly together
  const SolverOptions& options;
  bool unit_sigma = false;
  Limits limits = {};  // of the free parameters; x0 lies within
  std::shared_ptr<DataSurvey> survey =
      nullptr;  // of the rows' data, made in the first pass where it was not made before
};

// Solves for the linear parameters, minimizes, and, where that ends without a certificate, tries once
// more from the start as given with geodesic acceleration; the better result is returned.
MinimizerResult solve(const SolveRequest& request);
// That, or what does it in another way.
using SolveFunction = std::function<MinimizerResult(const SolveRequest& request)>;

// The same with an evaluator of request.rows and memory that are used again and again. The options must name
// a precision policy; counters and times are the evaluator's since it last forgot its work.
struct SolveWorkspace;
// Such options: the thread's policy where they name none.
SolverOptions settled(SolverOptions options);
MinimizerResult solve(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace);
// The same without what is made for reports (texts, times, counters): the result is workspace.best, and where
// nothing goes wrong nothing is allocated once the memory has grown.
void solve_in(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace);

}  // namespace nlsq::inline v0

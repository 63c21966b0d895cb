// Solves for a certified minimum of given rows, in one or several attempts. Every dense fit uses it.
#pragma once

#include "dense/data_survey.hpp"
#include "dense/dense_evaluator.hpp"
#include "minimizer/box.hpp"
#include "minimizer/minimizer_request.hpp"

#include "rows/row_model.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Names the free parameters in messages: `free` lists their positions among all names of the model. Without
// names, parameters are named by their numbers.
struct FreeNames {
  std::span<const std::string> all = {};
  std::span<const int> free = {};

  std::string of(std::size_t j) const;  // implemented in solve_message.cpp
};

struct SolveRequest {
  RowModel& rows;
  Vector x0;                // free parameters
  std::vector<int> linear;  // free parameters that enter jointly linearly
  const SolverOptions& options;
  bool unit_sigma = false;
  Limits limits = {};  // of the free parameters; x0 lies within them
  std::shared_ptr<DataSurvey> survey =
      nullptr;  // of the rows' data; runs in the first pass unless it ran before
  // `linear` was found by trial: these parameters are linear near the start, but may not be at the end.
  bool linear_by_trial = false;
  Vector solved = {};  // x0 with the best values of `linear`, where these are known already
  // Returns numbers that parameters may have by the ranges of the predictors (add_usual_numbers), or is
  // empty.
  std::function<Vector()> usual_numbers = {};
  FreeNames names = {};  // whose memory must live as long as the request

  // Returns the same request with other options.
  SolveRequest with(const SolverOptions& other) const {
    return {rows,          x0,   linear, other, unit_sigma, limits, survey, linear_by_trial, solved,
            usual_numbers, names};
  }
  // Returns the parameters that are linear everywhere. The checks of the end use these.
  std::span<const int> known_linear() const {
    return linear_by_trial ? std::span<const int>() : std::span<const int>(linear);
  }
};

// Solves for the linear parameters and minimizes. If there is no certificate, tries again from the given
// start with geodesic acceleration. Returns the better result.
MinimizerResult solve(const SolveRequest& request);
// The type of solve() and of its replacements.
using SolveFunction = std::function<MinimizerResult(const SolveRequest& request)>;

// The functions below do the same with an evaluator of request.rows and reused memory. The options must name
// a precision policy. Counters and times are the evaluator's since its last reset.
struct SolveWorkspace;
// Completes the options: sets the thread's policy if they name none.
SolverOptions settled(SolverOptions options);
MinimizerResult solve(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace);
// Does the same without data for reports (texts, times, counters). The result is workspace.best. Without
// failures, nothing is allocated once the memory has grown.
void solve_in(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace);
// Returns the message of such a result: what ended the fit and, if it is no success, what would help. Sets
// `evaluator` of the summary. Implemented in solve_message.cpp.
std::string message_of_end(MinimizerResult& end, DenseEvaluator& evaluator, const RowModel& rows,
                           const FreeNames& names = {});

}  // namespace nlsq::inline v0

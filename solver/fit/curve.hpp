// Declares the common form of every curve fit after its arguments are checked, and the functions that fit it.
// curve_fit, prepared models and fallback fits use it.
#pragma once

#include "dense/whitened_rows.hpp"
#include "fit/fit_setup.hpp"
#include "fit/fit_statistics.hpp"
#include "fit/solve.hpp"
#include "models/guesses/equal_guesses.hpp"
#include "support/clock.hpp"

#include <nlsq/callable.hpp>
#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/graph.hpp>
#include "expression/symmetry.hpp"
#include "rows/residual_sources.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds a checked curve fit, independent of how its model was given.
struct Curve {
  std::vector<std::string> names;
  std::vector<double> start;  // all parameters
  std::vector<int> free;
  std::shared_ptr<const RowSource> data;  // columns of `form`
  int predictors = 1;
  ResidualForm form;
  std::shared_ptr<DataSurvey> survey;  // of data
  const FitOptions& options;
  Response response;                       // empty for column y itself
  Clock::time_point begin = Clock::now();  // after the data were checked
  // Creates rows of the same model in another form: without its loss, or for the covariance.
  std::function<std::shared_ptr<RowModel>(const ResidualForm& form)> rows_of = {};
  // Returns what rows_of() makes rows from, if that is a graph. Fits with errors in x have it.
  std::function<std::shared_ptr<ResidualSource>(const ResidualForm& form)> source_of = {};
  Ties ties = {};                                        // already substituted in the model
  Limits limits = {};                                    // of the free parameters
  std::shared_ptr<const Whitening> whitening = nullptr;  // of options.sigma_matrix, once factored
  std::vector<std::string> unstarted = {};  // parameters that had neither a starting value nor a guess
  const Formula* formula = nullptr;         // the formula for which scan_for_better_starts() may look for
                                            // starting values
  std::vector<int> jumps = {};              // parameters that only move jumps (jump_parameters)
  Evenness is_even = {};  // of the model with its ties; empty for one that is known by its values alone
  bool linear_by_trial = false;  // `linear` was found by trial: these parameters may not be linear everywhere
  Vector solved_start = {};      // of the free parameters; see SolveRequest::solved

  // Returns true if residuals have variance 1, because the user declares it or because they are counts.
  bool unit_sigma() const { return options.absolute_sigma || form.loss.is_counts(); }
  // Returns the parameters at these positions among the free ones.
  std::vector<int> free_at(const std::vector<int>& positions) const {
    std::vector<int> out;
    for (const int k : positions) out.push_back(free[static_cast<std::size_t>(k)]);
    return out;
  }
  // Writes values of the free parameters into those of all parameters, and computes the tied ones.
  void put(std::span<const double> x, std::vector<double>& all) const {
    for (std::size_t k = 0; k < free.size(); ++k) all[static_cast<std::size_t>(free[k])] = x[k];
    ties.apply(all);
  }
  std::vector<double> free_start() const {
    std::vector<double> x;
    for (const int j : free) x.push_back(start[static_cast<std::size_t>(j)]);
    return x;
  }
};

// Returns a curve after checking its bounds and number of rows. `start`, `limits` and `ties` are of all
// parameters.
Curve checked_curve(std::vector<std::string> names, std::vector<double> start, const Limits& limits,
                    Ties ties, SurveyedRows data, std::size_t predictors, const FitOptions& options);

// Makes the left side of the formula, if it has one, the fitted quantity in place of y. The formula must
// outlive the curve.
void fit_left_side(const Formula& formula, Curve& curve);

// Returns the positions, among the free parameters, of those that enter the model jointly linearly.
std::vector<int> linear_among_free(const Graph& graph, NodeId root, const std::vector<int>& free);

// Fits the curve to these rows. `linear` lists the parameters that enter the model linearly. `solve_rows`, if
// given, replaces solve(request).
FitResult fit_rows(const Curve& curve, RowModel& rows, const std::vector<int>& linear,
                   const SolveFunction& solve_rows = {});

// Returns rows that call the function with dual numbers, or with finite differences if the callable only
// takes double. `sizes` has a size for each parameter, and steps of differences are not shorter than those
// for this size. If it is empty, the sizes are those of the values in `start`.
std::unique_ptr<RowModel> fallback_rows(const ModelFunction& function, std::shared_ptr<const RowSource> data,
                                        const ResidualForm& form, std::vector<double> start,
                                        std::vector<int> free, const Limits& limits = {},
                                        std::vector<double> sizes = {});
// Fits a callable that is not recorded. `note` says why. Throws ValidationError if errors in x require
// derivatives by x, which such a callable cannot provide.
FitResult fit_fallback(const ModelFunction& function, Curve curve, const std::string& note);

// Records the callable at rows spread over the data, so that most branches are known before the first pass.
// `survey` is that of all the data; it runs if one of those rows has a number that is not finite.
bool record(RecordedResidual& residual, const RowSource& data, const std::vector<double>& p,
            DataSurvey* survey = nullptr);

// Returns the built-in model's first guess from the data. `sigma` is that of y, or empty. For counts the
// guessed curve is positive. `rule` says what is imposed on the guess, which decides the order of alike
// terms.
std::vector<double> guessed_start(const Model& model, const Columns& x, const Column& y, const Column& sigma,
                                  const Loss& loss, const guessing::StartRule& rule, std::string& warning);

// Adds a warning to the fit, unless the text is empty.
inline void add_warning(FitResult& fit, std::string text) {
  if (!text.empty()) fit.warnings.push_back(std::move(text));
}

// Returns a warning of parameters that are fixed at a first guess; empty if none is. Such a value comes from
// the data, and the standard errors of the others do not include its error.
std::string warning_of_fixed_guesses(const std::vector<std::string>& fixed, const NamedValues& p0);

// Improves the start of the request on a sample of the rows, for linear parameters, for losses that ignore
// far residuals and for errors in x, and solves from there. If that leads to no minimum, solves from the
// given start, too. `linear` are the positions of linear parameters among the free ones. Implemented in
// better_start.cpp.
MinimizerResult solve_from_better_start(const Curve& curve, const std::vector<int>& linear,
                                        const SolveRequest& given, const SolveFunction& solve_from);

}  // namespace nlsq::inline v0

// Fits groups that share some of their parameters. With absolute sigma, the distance to the optimum is stated
// in the given sigma.
#pragma once

#include "certificate/doubtful_end.hpp"
#include "minimizer/box.hpp"
#include "support/shared_work.hpp"

#include <nlsq/groups.hpp>
#include <nlsq/problem.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Does what curve_fit_groups documents for options.share (shared_fit.cpp). The columns must have been
// checked.
GroupsResult fit_with_shared_parameters(const PreparedModel& model, const Columns& x, const Column& y,
                                        const Column& group, const NamedValues& p0,
                                        const GroupOptions& options);

// Solves a problem of `rows` residuals. solve() measures the distance to the optimum in standard errors that
// follow from the scatter of the residuals. With absolute sigma, this function states it in standard errors
// that follow from the given sigma, as a fit of one curve does. A success is then at most 0.1 of them away,
// or tau if tau is larger.
//
// `values` is the memory of the problem's parameter blocks. A journal stores them after every 40 iterations,
// and at the end. Every solve begins anew after 40 iterations, from its present point, so that a solve
// continued from the journal has the same bits as one that was never interrupted. One process of a team
// solves, and the others take the values from it.
Summary solve_joint(Problem& problem, std::span<const std::span<double>> values, const GroupOptions& options,
                    std::size_t rows);

// is_bounded() returns true if the limits of all parameters, which may be empty, bound this one;
// is_on_bound() returns true if its value lies on a bound.
bool is_bounded(const Limits& limits, int parameter);
bool is_on_bound(const Limits& limits, int parameter, double value);
// Stores which free parameters end on a bound.
void note_parameters_on_bounds(const Limits& limits, const std::vector<std::string>& fixed,
                               GroupsResult& fits);

// Computes the start of a joint fit. The shared parameters start at the medians of the groups' own fits. The
// other parameters start at the results of further fits, in which the shared ones are fixed at these medians.
GroupsResult own_fits(const PreparedModel& model, const Columns& x, const Column& y, const Column& group,
                      const NamedValues& p0, const GroupOptions& options, const std::vector<int>& shared);

// Says why a joint fit has no standard errors. `weak` has a flag for each group: true if its rows do not
// determine its own parameters. `deficient` says that J loses rank.
std::string why_without_errors(const std::vector<bool>& weak, bool deficient);
// Returns the warning of such a group.
std::string warning_of_weak(bool deficient);

// Returns the ratio of the largest sigma to the smallest one.
double spread_of(const Column& sigma);
// Returns true if a few heavy rows alone may have made the fit of a group a success. There are three signs:
// the success rests on rounding errors, a standard error is smaller than the last digits of its parameter, or
// there is no standard error. doubtful_spread() uses the same signs for the fit of one curve.
bool rests_on_weights(const CertifiedEnd& end, std::span<const double> standard_errors,
                      std::span<const int> free);
Doubt doubt_of_weights();

}  // namespace nlsq::inline v0

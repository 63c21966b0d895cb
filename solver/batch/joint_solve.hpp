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

// Does what curve_fit_groups promises if options.share names parameters (shared_fit.cpp). The columns must
// have been checked.
GroupsResult fit_with_shared_parameters(const PreparedModel& model, const Columns& x, const Column& y,
                                        const Column& group, const NamedValues& p0,
                                        const GroupOptions& options);

// Solves a problem of `rows` residuals. solve() measures the distance to the optimum in standard errors that
// follow from the scatter of the residuals. With absolute sigma, this function states it in standard errors
// that follow from the given sigma, as a fit of one curve does. A success is then at most 0.1 of them away,
// or tau if tau is larger.
//
// `values`: the memory of the problem's parameter blocks. A journal keeps them after every 40 iterations, and
// at the end. So that a solve that goes on from there has the bits of one that was never interrupted, every
// solve begins anew after 40 iterations, from where it is. One process of a team solves, and the others take
// the values from it.
Summary solve_joint(Problem& problem, std::span<const std::span<double>> values, const GroupOptions& options,
                    std::size_t rows);

// Whether the limits of all parameters, which may be empty, bound this one; and whether it lies on a bound.
bool is_bounded(const Limits& limits, int parameter);
bool is_on_bound(const Limits& limits, int parameter, double value);
// Notes which free parameters end on a bound.
void note_parameters_on_bounds(const Limits& limits, const std::vector<std::string>& fixed,
                               GroupsResult& fits);

// The largest sigma over the smallest one.
double spread_of(const Column& sigma);
// Whether a few heavy rows alone may have made the fit of a group a success. There are three signs: the
// success rests on rounding errors, a standard error is smaller than the last digits of its parameter, or
// there is no standard error. doubtful_spread() looks for the same signs in the fit of one curve.
bool rests_on_weights(const CertifiedEnd& end, std::span<const double> standard_errors,
                      std::span<const int> free);
Doubt doubt_of_weights();

}  // namespace nlsq::inline v0

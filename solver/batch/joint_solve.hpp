// The solve of a joint fit of groups. With absolute sigma it states distances in the given sigma.
#pragma once

#include <nlsq/groups.hpp>
#include <nlsq/problem.hpp>

namespace nlsq::inline v0 {

// Solves a problem of `rows` residuals. solve() measures the distance to the optimum in standard errors that
// follow from the scatter of the residuals. With absolute sigma, this function states it in standard errors
// that follow from the given sigma, as a fit of one curve does. A success is then at most 0.1 of them away,
// or tau if tau is larger.
Summary solve_joint(Problem& problem, const GroupOptions& options, std::size_t rows);

}  // namespace nlsq::inline v0

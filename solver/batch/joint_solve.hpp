// The solve of a joint fit of groups. With absolute sigma it states distances in the given sigma.
#pragma once

#include <nlsq/groups.hpp>
#include <nlsq/problem.hpp>

namespace nlsq::inline v0 {

// Solves a problem of `rows` residuals. solve() counts distances by the scatter of the residuals. With
// absolute sigma they count in the given sigma, as in a fit of one curve: the distance is stated so, and a
// success is at most 0.1 such standard errors away, or tau if that is more.
Summary solve_joint(Problem& problem, const GroupOptions& options, std::size_t rows);

}  // namespace nlsq::inline v0

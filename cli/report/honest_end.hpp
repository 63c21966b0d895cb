// Decides when a certified end is no success for the user, and says what may help. fit_command.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <nlsq/groups.hpp>

#include <string>

namespace nlsq::cli {

// Why RANK_DEFICIENT or NOISE_FLOOR is no success here, with advice; empty if the end is one, or is none
// anyway. `p0`: the starting values given.
std::string doubt_about_end(const ModelChoice& model, const FitResult& fit, const NamedValues& p0);

// What may help a fit that ended without a minimum: a starting value, several starts, or a simpler model.
// Empty after a success.
std::string advice_on_starts(const ModelChoice& model, const FitResult& fit, const NamedValues& p0);

// The same as doubt_about_end for groups. Those in doubt become BUDGET, with the reason as their message, and
// no longer count as succeeded. How far a parameter moved is not known here. A joint fit is in doubt as a
// whole.
void withdraw_doubtful(const ModelChoice& model, const NamedValues& p0, const FitOptions& options,
                       GroupsResult& fits);

}  // namespace nlsq::cli

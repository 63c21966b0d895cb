// Decides when a certified end is no success for the user. fit_command.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Why RANK_DEFICIENT is no success here, with advice; empty if the end is one, or is none anyway. `p0`: the
// starting values given.
std::string doubt_about_end(const ModelChoice& model, const FitResult& fit, const NamedValues& p0);

}  // namespace nlsq::cli

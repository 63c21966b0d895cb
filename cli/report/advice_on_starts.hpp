// Says what may help a fit that ended without a minimum. fit_command.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// A starting value, several starts, or a simpler model. Empty after a success. `y`: what was fitted. `p0`:
// the starting values given.
std::string advice_on_starts(const ModelChoice& model, const FitResult& fit, const Column& y,
                             const NamedValues& p0);

}  // namespace nlsq::cli

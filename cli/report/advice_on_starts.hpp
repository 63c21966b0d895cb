// Advises on a fit that ended without a minimum. fit_command.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Advises a starting value, several starts, or a simpler model. The text is empty after a success. `y` is the
// fitted response, and `p0` has the starting values given.
std::string advice_on_starts(const ModelChoice& model, const FitResult& fit, const Column& y,
                             const NamedValues& p0);

}  // namespace nlsq::cli

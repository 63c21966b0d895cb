// Computes the profile intervals of the parameters, for --intervals profile.
#pragma once

#include "fit_command.hpp"

namespace nlsq::cli {

// Computes profile intervals for --intervals profile. If there are none, the report keeps the standard
// intervals and gives the reason.
void find_intervals(const FitOptions& options, FitReport& report);

}  // namespace nlsq::cli

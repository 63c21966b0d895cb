// Writes the file of --residuals. fit_command.cpp uses it.
#pragma once

#include "fit_command.hpp"

namespace nlsq::cli {

// Writes x, y, fit and residual of each row as CSV, and sigma if there is one. The rows are formatted on all
// threads that --threads allows. The bytes do not depend on their number. Throws OutputError.
void write_residuals(const FitReport& report);

}  // namespace nlsq::cli

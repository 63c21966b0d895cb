// Writes the pictures and the page that the command line asks for. fit_command.cpp calls it after the fit.
#pragma once

#include "fit_command.hpp"

#include <nlsq/options.hpp>

namespace nlsq::cli {

// `options` are those of the fit. Throws OutputError.
void write_pictures(const FitReport& report, const FitOptions& options);

}  // namespace nlsq::cli

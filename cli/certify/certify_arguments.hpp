// Declares the option --certify. arguments.cpp parses it, and fit_command.cpp acts on it.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"

#include <nlsq/certify.hpp>

namespace CLI {
class App;
}

namespace nlsq::cli {

void add_certify_options(CLI::App& app, bool& certify);

// Rejects options of the iteration, which --certify does not make. Throws UsageError.
void check_certify(const Arguments& arguments);

// Judges the parameters `p0`. Throws UsageError if one has no value.
FitResult certify_values(const ModelChoice& model, const Columns& x, const Column& y, const NamedValues& p0,
                         const FitOptions& options);

}  // namespace nlsq::cli

// Implements --certify: its checks, and the call of the library.
#include "certify/certify_arguments.hpp"

#include "errors.hpp"
#include "fit_command.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

void add_certify_options(CLI::App& app, bool& certify) {
  app.add_flag("--certify", certify,
               "make no step: judge the parameters of --p0; exit 0 if they are the minimum")
      ->group("Model and fit");
}

void check_certify(const Arguments& arguments) {
  if (!arguments.certify) return;
  const std::pair<bool, const char*> of_iterations[] = {
      {!arguments.compare.models.empty(), "--compare"},
      {arguments.starts.has_value(), "--starts"},
      {arguments.ftol.has_value(), "--ftol"},
      {arguments.xtol.has_value(), "--xtol"},
      {arguments.gtol.has_value(), "--gtol"},
      {arguments.max_iterations.has_value(), "--max-iterations"},
      {arguments.time_limit.has_value(), "--time-limit"},
      {arguments.strategy != Algorithm::levenberg_marquardt, "--strategy"},
      {arguments.nonmonotonic != 0, "--nonmonotonic"},
      {arguments.variable_projection != VariableProjection::automatic, "--variable-projection"},
      {arguments.precision_given, "--precision or --rule"},
      {arguments.optimize.has_value(), "--optimize"},
      {arguments.profile, "--profile"},
      {arguments.trace, "--trace"},
  };
  for (const auto& [given, option] : of_iterations) {
    if (given)
      throw UsageError(
          fmt::format("--certify makes no step and is computed in float64: leave {} out", option));
  }
  if (arguments.p0.empty() && arguments.p0_file.empty())
    throw UsageError("--certify needs the parameters to judge: --p0 a=1,b=2 or --p0 @fit.json");
}

FitResult certify_values(const ModelChoice& model, const Columns& x, const Column& y, const NamedValues& p0,
                         const FitOptions& options) {
  std::string missing;
  for (const std::string& name : model.formula.parameters) {
    if (!is_tied(options.ties, name) && !has_value(p0, name)) missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty())
    throw UsageError(fmt::format("--certify: --p0 has no value for {}; every parameter needs one", missing));
  return model.builtin != nullptr ? certify(*model.builtin, x, y, p0, options)
                                  : certify(model.formula, x, y, p0, options);
}

}  // namespace nlsq::cli

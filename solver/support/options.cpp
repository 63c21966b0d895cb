// Validates SolverOptions.
#include <nlsq/options.hpp>

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

std::vector<std::string> SolverOptions::violations() const {
  std::vector<std::string> found;
  if (precision) found = precision->violations();
  const auto tolerance = [&](const char* name, double value) {
    if (!(value >= 0 && value < 1))
      found.push_back(fmt::format("{} = {}: use a number from 0 up to, not including, 1", name, value));
  };
  tolerance("xtol", xtol);
  tolerance("gtol", gtol);
  tolerance("ftol", ftol);
  if (!(tau >= 0 && std::isfinite(tau)))
    found.push_back(fmt::format("tau = {}: use a finite number, 0 or more", tau));
  if (threads < 0) found.push_back(fmt::format("threads = {}: use 0 (all cores) or more", threads));
  if (max_iterations < 0) found.push_back(fmt::format("max_iterations = {}: use 0 or more", max_iterations));
  if (nonmonotonic_steps < 0)
    found.push_back(fmt::format("nonmonotonic_steps = {}: use 0 (none) or more", nonmonotonic_steps));
  if (!(eta > 0 && eta < 1)) found.push_back(fmt::format("eta = {}: use a number between 0 and 1", eta));
  if (max_linear_iterations < 1)
    found.push_back(fmt::format("max_linear_iterations = {}: use 1 or more", max_linear_iterations));
  if (!(max_seconds >= 0))
    found.push_back(fmt::format("max_seconds = {}: use 0 (no limit) or more", max_seconds));
  if (team && max_seconds > 0) {
    found.push_back(fmt::format(
        "max_seconds = {}: the clocks of the processes of a team differ; limit the iterations, or "
        "let the callback stop all processes at one iteration",
        max_seconds));
  }
  if (!(initial_lambda >= 0 && std::isfinite(initial_lambda))) {
    found.push_back(fmt::format("initial_lambda = {}: use a finite number, 0 or more", initial_lambda));
  }
  return found;
}

void SolverOptions::refuse_team_and_journal(const char* what) const {
  if (team) throw ValidationError(fmt::format("team: {} use one process; leave it out", what));
  if (journal) throw ValidationError(fmt::format("journal: {} keep none; leave it out", what));
}

}  // namespace nlsq::inline v0

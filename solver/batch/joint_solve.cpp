// Implements solve_joint().
#include "batch/joint_solve.hpp"

#include "certificate/certificate.hpp"
#include "certificate/hidden_minimum.hpp"

#include "support/column_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

double scatter_of(const Summary& s, std::size_t rows) {
  return scatter(s.final_cost, rows, static_cast<std::size_t>(std::max(0, s.certificate.rank)), false);
}

bool is_far(const Summary& s, double tau) {
  return is_success(s.verdict) && s.certificate.decrement_sigma > std::max(tau, kNearInNoise);
}

}  // namespace

Summary solve_joint(Problem& problem, const GroupOptions& options, std::size_t rows) {
  Summary out = solve(problem, options);
  if (!options.absolute_sigma) return out;
  const double first = scatter_of(out, rows);
  if (!(first > 0)) return out;
  out.certificate.decrement_sigma *= first;
  if (!is_far(out, options.tau)) return out;
  SolverOptions closer = options;
  closer.tau /= first;
  closer.gtol = 0;
  out = solve(problem, closer);
  out.certificate.decrement_sigma *= scatter_of(out, rows);
  if (!is_far(out, options.tau)) return out;
  out.verdict = out.certificate.verdict = Verdict::budget;
  out.certificate.passed = false;
  out.termination = Termination::no_progress;
  out.message =
      "the optimum is further away than a tenth of a standard error, because the given sigma are far smaller "
      "than the residuals: give sigma of their size, or leave out absolute sigma";
  return out;
}

bool is_bounded(const Limits& limits, int parameter) {
  const auto j = static_cast<std::size_t>(parameter);
  return !limits.empty() && !(std::isinf(limits.lower[j]) && std::isinf(limits.upper[j]));
}

bool is_on_bound(const Limits& limits, int parameter, double value) {
  const auto j = static_cast<std::size_t>(parameter);
  return !limits.empty() && (value == limits.lower[j] || value == limits.upper[j]);
}

double spread_of(const Column& sigma) {
  const ColumnRange range = range_of(sigma);
  return range.most > 0 ? range.most / range.least : 1;
}

bool rests_on_weights(const CertifiedEnd& end, std::span<const double> standard_errors,
                      std::span<const int> free) {
  if (!is_success(end.verdict)) return false;
  if (end.verdict != Verdict::converged) return true;
  return std::ranges::any_of(free, [&](int parameter) {
    const auto j = static_cast<std::size_t>(parameter);
    const double error = standard_errors[j];
    return std::isnan(error) || (error > 0 && is_below_spacing(kNearInNoise * error, end.parameters[j]));
  });
}

Doubt doubt_of_weights() {
  return {
      "some rows weigh so much more than others, by their sigma, that their rounding errors hide the rest",
      "Give these rows a larger sigma; where rows are to hold exactly, fix a parameter."};
}

}  // namespace nlsq::inline v0

// Implements solve_joint().
#include "batch/joint_solve.hpp"

#include "certificate/certificate.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "fit/fit_setup.hpp"
#include "minimizer/minimizer_request.hpp"
#include "support/bytes.hpp"
#include "support/clock.hpp"
#include "support/column_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

double scatter_of(const Summary& s, std::size_t rows) {
  return scatter(s.final_cost, rows, static_cast<std::size_t>(std::max(0, s.certificate.rank)), false);
}

bool is_far(const Summary& s, double tau) {
  return is_success(s.verdict) && s.certificate.decrement_sigma > std::max(tau, kNearInNoise);
}

constexpr int kIterationsOfPart = 40;

using Values = std::span<const std::span<double>>;

// Adds the trace and the counts of `before` to those of `next`, the part that followed it.
void add_part_before(const Summary& before, Summary& next) {
  const int first = before.iterations.empty() ? 0 : before.iterations.back().iteration + 1;
  for (IterationSummary& line : next.iterations) line.iteration += first;
  for (PrecisionIssue& issue : next.precision.issues) issue.iteration += first;
  take_both(before, next, next);
  next.precision.policy = before.precision.policy;
  next.precision.counters.add(before.precision.counters);
  next.counted_work += before.counted_work;
  next.time.setup += before.time.setup;
  next.time.total += before.time.total;
}

// Returns the options of the part that follows `before`, `seconds` after the beginning. The damping and the
// format of J continue from `before`.
SolverOptions options_of_part(const Summary& before, const SolverOptions& options, double seconds) {
  SolverOptions part = options;
  part.team = nullptr;
  part.journal = nullptr;
  part.max_iterations -= steps_of(before.iterations);
  if (part.max_iterations > kIterationsOfPart) part.max_iterations = kIterationsOfPart;
  if (before.iterations.empty()) return part;
  const IterationSummary& last = before.iterations.back();
  if (last.lambda > 0) part.initial_lambda = last.lambda;
  if (last.plan.gram >= Gram::f64) part.precision = PrecisionPolicy::all_f64();
  if (part.max_seconds > 0)
    part.max_seconds = std::max(options.max_seconds - seconds, std::numeric_limits<double>::min());
  return part;
}

std::uint64_t request_of_part(Values values, const SolverOptions& part) {
  ByteHash hash;
  for (const std::span<double> some : values)
    for (const double value : some) hash.add_value(value);
  for (const double option : {part.tau, part.gtol, part.initial_lambda}) hash.add_value(option);
  hash.add_value(part.max_iterations);
  return hash.value();
}

// Solves until the solve ends, or for kIterationsOfPart iterations.
Summary solve_part(Problem& problem, Values values, const SolverOptions& part, SharedWork& work) {
  const SharedWork::Results end =
      work.run(request_of_part(values, part), 1, 1, [&](std::size_t, std::size_t) {
        SharedWork::Results found;
        ByteWriter out;
        const Summary end = solve(problem, part);
        put_summary(end, out);
        for (const std::span<const double> some : values) out.put_all(some);
        found.bytes = std::move(out.text());
        found.complete = end.termination != Termination::time_limit;  // a later run has time for more
        return found;
      });
  ByteReader in(end.bytes);
  Summary summary = take_summary(in);
  for (const std::span<double> some : values) std::ranges::copy(in.get_all<double>(), some.begin());
  return summary;
}

Summary solve_in_parts(Problem& problem, Values values, const SolverOptions& options, SharedWork& work) {
  const auto begin = Clock::now();  // parts taken from a journal use none of the time
  Summary all;
  for (;;) {
    const double seconds = seconds_since(begin);
    const SolverOptions part = options_of_part(all, options, seconds);
    Summary next = solve_part(problem, values, part, work);
    if (!all.iterations.empty()) add_part_before(all, next);
    all = std::move(next);
    const bool goes_on = all.termination == Termination::max_iterations && !is_success(all.verdict);
    if (!goes_on || steps_of(all.iterations) >= options.max_iterations) return all;
  }
}

}  // namespace

Summary solve_joint(Problem& problem, Values values, const GroupOptions& options, std::size_t rows) {
  SharedWork work(options);
  Summary out = solve_in_parts(problem, values, options, work);
  if (!options.absolute_sigma) return out;
  const double first = scatter_of(out, rows);
  if (!(first > 0)) return out;
  out.certificate.decrement_sigma *= first;
  if (!is_far(out, options.tau)) return out;
  SolverOptions closer = options;
  closer.tau /= first;
  closer.gtol = 0;
  out = solve_in_parts(problem, values, closer, work);
  out.certificate.decrement_sigma *= scatter_of(out, rows);
  if (!is_far(out, options.tau)) return out;
  withdraw(
      out,
      "the optimum is further away than a tenth of a standard error, because the given sigma are far smaller "
      "than the residuals: give sigma of their size, or leave out absolute sigma");
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

GroupsResult own_fits(const PreparedModel& model, const Columns& x, const Column& y, const Column& group,
                      const NamedValues& p0, const GroupOptions& options, const std::vector<int>& shared) {
  GroupOptions alone = options;
  alone.share.clear();
  const GroupsResult first = curve_fit_groups(model, x, y, group, p0, alone);
  NamedValues start = p0;
  for (const int j : shared) {
    const std::string& name = first.parameter_names[static_cast<std::size_t>(j)];
    alone.fixed.push_back(name);
    if (has_value(p0, name)) continue;
    std::vector<double> values;
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (is_success(first.verdict[k])) values.push_back(first.parameters(k, static_cast<std::size_t>(j)));
    }
    if (values.empty()) continue;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    start.emplace_back(name, *middle);
  }
  GroupsResult out = curve_fit_groups(model, x, y, group, start, alone);
  out.succeeded = out.in_lanes = 0;
  return out;
}

std::string why_without_errors(const std::vector<bool>& weak, bool deficient) {
  const auto count = std::ranges::count(weak, true);
  if (count == 0)
    return "the standard errors are not known: with all groups together the data determine the parameters "
           "too weakly, or x has a large offset (subtract it)";
  return fmt::format(
      "the standard errors are not known: the rows of {} of {} groups do not determine their own "
      "parameters{}; the warnings of these groups name them",
      count, weak.size(), deficient ? "" : ", or too weakly, as where x has a large offset (subtract it)");
}

std::string warning_of_weak(bool deficient) {
  return fmt::format(
      "no standard error of the joint fit is known, because the rows of this group do not "
      "determine its own parameters: {}leave the group out, or fix what it cannot tell",
      deficient ? "" : "if x has a large offset, subtract it, otherwise ");
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

void note_parameters_on_bounds(const Limits& limits, const std::vector<std::string>& fixed,
                               GroupsResult& fits) {
  const std::size_t n = fits.parameter_names.size();
  fits.at_bound.assign(fits.size() * n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    if (std::ranges::count(fixed, fits.parameter_names[j]) > 0) continue;
    for (std::size_t k = 0; k < fits.size(); ++k)
      fits.at_bound[k * n + j] = is_on_bound(limits, static_cast<int>(j), fits.parameters(k, j));
  }
}

}  // namespace nlsq::inline v0

// Implements multi-start fits: scattered starts, and the list of distinct minima.
#include "start/multi_start.hpp"

#include "rows/sample_rows.hpp"
#include "start/start.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <tuple>

namespace nlsq::inline v0 {

namespace {

constexpr double kFarthestStart = 50;  // largest distance of a start from x0, in sizes of x0
constexpr double kManyTimes = 100;     // ratio of positive bounds above which sampling is logarithmic
constexpr double kSameCost = 1e-6, kSamePlace = 1e-3;

// Returns coordinate k of one dimension of a Latin hypercube: each of `count` strata has one point (McKay,
// Beckman, Conover, Technometrics 21, 1979).
double stratified(std::size_t k, std::size_t count, Random random) {
  std::vector<std::size_t> strata(count);
  std::iota(strata.begin(), strata.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(strata[i - 1], strata[random.below(i)]);
  double within = 0;
  for (std::size_t i = 0; i <= k; ++i) within = random.uniform();
  return (static_cast<double>(strata[k]) + within) / static_cast<double>(count);
}

double coordinate(double u, double x0, double lower, double upper) {
  if (std::isfinite(lower) && std::isfinite(upper)) {
    if (lower > 0 && upper >= kManyTimes * lower)
      return std::clamp(lower * std::pow(upper / lower, u), lower, upper);
    return std::clamp((1 - u) * lower + u * upper, lower, upper);
  }
  const double size = x0 != 0 ? std::fabs(x0) : 1;
  double x = x0 + size * std::clamp(std::tan(std::numbers::pi * (u - 0.5)), -kFarthestStart, kFarthestStart);
  if (x < lower) x = lower + (lower - x);
  if (x > upper) x = upper - (x - upper);
  return std::isfinite(x) ? x : x0;
}

// Returns true if a is better: it has the lower cost or, if costs agree to rounding, full rank.
bool better_minimum(const FitMinimum& a, const FitMinimum& b) {
  const bool good_a = is_success(a.verdict), good_b = is_success(b.verdict);
  if (good_a != good_b) return good_a;
  if (std::isnan(a.cost) || std::isnan(b.cost)) return !std::isnan(a.cost) && std::isnan(b.cost);
  if (std::fabs(a.cost - b.cost) > 1e-9 * std::max(a.cost, b.cost)) return a.cost < b.cost;
  return a.verdict != Verdict::rank_deficient && b.verdict == Verdict::rank_deficient;
}

bool same(const FitMinimum& a, const FitMinimum& b) {
  if (is_success(a.verdict) != is_success(b.verdict)) return false;
  if (!(std::fabs(a.cost - b.cost) <= kSameCost * std::max(a.cost, b.cost))) return false;
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    const double p = a.parameters[j], q = b.parameters[j];
    if (std::fabs(p - q) > kSamePlace * std::max(std::fabs(p), std::fabs(q))) return false;
  }
  return true;
}

// Returns true if a comes first: certified minima are first, in the order of their cost. Entries without a
// cost come last.
bool before(const FitMinimum& a, const FitMinimum& b) {
  const auto key = [](const FitMinimum& m) {
    return std::tuple(!is_success(m.verdict), std::isnan(m.cost), std::isnan(m.cost) ? 0 : m.cost);
  };
  return key(a) < key(b);
}

// Returns the entries of `all`, with `best` first. Entries at the same point are merged.
std::vector<FitMinimum> distinct(std::vector<FitMinimum> all, std::size_t best) {
  std::swap(all[0], all[best]);
  std::stable_sort(all.begin() + 1, all.end(), before);
  std::vector<FitMinimum> out;
  for (FitMinimum& minimum : all) {
    const auto known = std::ranges::find_if(out, [&](const FitMinimum& m) { return same(m, minimum); });
    if (known == out.end()) {
      out.push_back(std::move(minimum));
      continue;
    }
    ++known->starts;
    known->first_start = std::min(known->first_start, minimum.first_start);
  }
  return out;
}

bool stopped_by_user(const MinimizerResult& end) {
  return end.summary.termination == Termination::user_stop || end.spent == Termination::user_stop;
}

// Solves from one start after the other, all within the request's time.
class Starts {
 public:
  Starts(const SolveRequest& request, const SolveFunction& solve_one)
      : request_(request), solve_one_(solve_one), options_(settled(request.options)) {}

  bool time_is_up() const { return request_.options.max_seconds > 0 && seconds_left() <= 0; }

  // Solves over all rows.
  MinimizerResult solve_from(std::span<const double> x0) {
    allow_time_left();
    SolveRequest from = request_.with(options_);
    from.x0.assign(x0.begin(), x0.end());
    return solve_one_(from);
  }

  // Solves over a sample of the rows that represents all of them at `best`, a minimum. A start far away from
  // every minimum takes the whole budget of iterations, which is long with many rows. Returns nothing if
  // there is no such sample.
  std::optional<MinimizerResult> explore_from(const Vector& x0, const Vector& best) {
    if (!sampled_rows_) sampled_rows_ = representative_rows(request_, best);
    if (*sampled_rows_ == 0) return std::nullopt;
    allow_time_left();
    SampleRows some(request_.rows, *sampled_rows_);
    return solve({some, x0, request_.linear, options_, request_.unit_sigma, request_.limits, nullptr,
                  request_.linear_by_trial});
  }

  // Replaces the cost of the sample by that of all rows. What was certified on the sample is not certified on
  // all rows.
  void complete(MinimizerResult& explored) const {
    Summary& summary = explored.summary;
    summary.final_cost = DenseEvaluator(request_.rows, options_).cost(explored.x, Format::f64);
    if (stopped_by_user(explored)) summary.termination = Termination::user_stop;
    summary.verdict = summary.certificate.verdict = Verdict::budget;
    summary.certificate.passed = false;
  }

 private:
  double seconds_left() const { return request_.options.max_seconds - seconds_since(begin_); }
  void allow_time_left() {
    if (request_.options.max_seconds > 0) options_.max_seconds = std::max(seconds_left(), 1e-9);
  }

  const SolveRequest& request_;
  const SolveFunction& solve_one_;
  SolverOptions options_;
  Clock::time_point begin_ = Clock::now();
  std::optional<std::size_t> sampled_rows_;
};

}  // namespace

std::vector<double> scattered_start(std::span<const double> x0, const Limits& limits, int k, int starts,
                                    std::uint64_t seed) {
  std::vector<double> x(x0.begin(), x0.end());
  Random seeds(seed);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double u = stratified(static_cast<std::size_t>(k - 1), static_cast<std::size_t>(starts - 1),
                                Random(seeds.bits()));
    x[j] = coordinate(u, x0[j], limits.empty() ? -kInfinity : limits.lower[j],
                      limits.empty() ? kInfinity : limits.upper[j]);
  }
  return x;
}

StartsResult solve_from_starts(const StartsAsked& asked, const SolveRequest& request,
                               const SolveFunction& solve_one) {
  Starts starts(request, solve_one);
  std::vector<FitMinimum> ends;
  std::optional<MinimizerResult> best;
  std::size_t best_at = 0;
  // The solve continues over all rows from the end on a sample if this end is a minimum there, or lower than
  // the best.
  const auto solve_from_start = [&](int k) {
    if (k == 0) return starts.solve_from(request.x0);
    const Vector x0 = scattered_start(request.x0, request.limits, k, asked.starts, asked.seed);
    if (!is_success(best->summary.verdict)) return starts.solve_from(x0);
    std::optional<MinimizerResult> explored = starts.explore_from(x0, best->x);
    if (!explored || explored->summary.termination == Termination::failure) return starts.solve_from(x0);
    const bool stopped = stopped_by_user(*explored);
    if (!stopped && is_success(explored->summary.verdict)) return starts.solve_from(explored->x);
    starts.complete(*explored);
    if (stopped) return std::move(*explored);
    if (explored->summary.final_cost < best->summary.final_cost) return starts.solve_from(explored->x);
    return std::move(*explored);
  };
  for (int k = 0; k < asked.starts; ++k) {
    if (k > 0 && starts.time_is_up()) break;
    MinimizerResult end = solve_from_start(k);
    const bool stopped = stopped_by_user(end);
    const bool began = end.summary.termination != Termination::failure;
    FitMinimum minimum{asked.parameters(end.x), began ? end.summary.final_cost : kNaN, end.summary.verdict, 1,
                       k};
    if (!best || better_minimum(minimum, ends[best_at])) {
      best = std::move(end);
      best_at = ends.size();
    }
    ends.push_back(std::move(minimum));
    if (stopped) break;
  }
  const double lowest = std::ranges::min(ends, {}, [](const FitMinimum& m) {
                          return std::isnan(m.cost) || m.verdict == Verdict::failed ? kInfinity : m.cost;
                        }).cost;
  StartsResult out;
  if (is_success(ends[best_at].verdict) && lowest < ends[best_at].cost * (1 - 1e-6)) {
    out.warning = fmt::format(
        "a start ended at a lower cost, {:.9g}, without a certificate: see the minima found", lowest);
  }
  if (ends.size() < static_cast<std::size_t>(asked.starts)) {
    if (!out.warning.empty()) out.warning += "; ";
    out.warning +=
        fmt::format("stopped after {} of {} starts: others may end lower", ends.size(), asked.starts);
  }
  out.minima = distinct(std::move(ends), best_at);
  out.best = std::move(*best);
  return out;
}

}  // namespace nlsq::inline v0

// Implements multi-start fits: scattered starts, and the list of distinct minima.
#include "start/multi_start.hpp"

#include "support/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <tuple>

namespace nlsq::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFarthestStart = 50;  // largest distance of a start from x0, in sizes of x0
constexpr double kManyTimes = 100;     // ratio of positive bounds above which sampling is logarithmic
constexpr double kSameCost = 1e-6, kSamePlace = 1e-3;

// Coordinate k of one dimension of a Latin hypercube: each of `count` strata has one point (McKay, Beckman,
// Conover, Technometrics 21, 1979).
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

// Prefers the lower cost. If costs agree to rounding, prefers full rank.
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

// Orders certified minima first, then by cost. Entries without a cost come last.
bool before(const FitMinimum& a, const FitMinimum& b) {
  const auto key = [](const FitMinimum& m) {
    return std::tuple(!is_success(m.verdict), std::isnan(m.cost), std::isnan(m.cost) ? 0 : m.cost);
  };
  return key(a) < key(b);
}

// Entries of `all`, with `best` first. Entries at the same point are merged.
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

}  // namespace

std::vector<double> scattered_start(std::span<const double> x0, const Limits& limits, int k, int starts,
                                    std::uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
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
  const auto begin = Clock::now();
  SolverOptions options = settled(request.options);
  std::vector<FitMinimum> ends;
  std::optional<MinimizerResult> best;
  std::size_t best_at = 0;
  for (int k = 0; k < asked.starts; ++k) {
    const double used = std::chrono::duration<double>(Clock::now() - begin).count();
    if (k > 0 && request.options.max_seconds > 0) {
      if (used >= request.options.max_seconds) break;
      options.max_seconds = request.options.max_seconds - used;
    }
    SolveRequest from = request.with(options);
    if (k > 0) from.x0 = scattered_start(request.x0, request.limits, k, asked.starts, asked.seed);
    MinimizerResult end = solve_one(from);
    const bool stopped =
        end.summary.termination == Termination::user_stop || end.spent == Termination::user_stop;
    const bool began = end.summary.termination != Termination::failure;
    FitMinimum minimum{asked.parameters(end.x),
                       began ? end.summary.final_cost : std::numeric_limits<double>::quiet_NaN(),
                       end.summary.verdict, 1, k};
    if (!best || better_minimum(minimum, ends[best_at])) {
      best = std::move(end);
      best_at = ends.size();
    }
    ends.push_back(std::move(minimum));
    if (stopped) break;
  }
  const double lowest = std::ranges::min(ends, {}, [](const FitMinimum& m) {
                          return std::isnan(m.cost) || m.verdict == Verdict::failed
                                     ? std::numeric_limits<double>::infinity()
                                     : m.cost;
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

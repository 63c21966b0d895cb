// Implements lower_beside_saddle().
#include "certificate/ends_of_fits.hpp"

#include "certificate/certificate.hpp"
#include "certificate/second_order_minimum.hpp"
#include "dense/dense_evaluator.hpp"

#include "rows/sample_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// With at most this many parameters, the curvature is examined along all of them, which takes two passes for
// each.
constexpr std::size_t kMostUnmovedOf = 16;
constexpr std::size_t kRowsOfSaddle = 1 << 14;  // rows that these passes use
// A parameter is unmoved if its whole change alters the residuals by at most this share.
constexpr double kUnmoved = 1e-9;
// The smallest fall of the cost that counts, as a share of the decrease that a certificate allows.
constexpr double kOfContradiction = 1e-5;

// Returns the parameters on bounds whose gradient pushes them against the bound.
std::vector<int> pushed(const MinimizerResult& end) {
  std::vector<int> out = end.summary.certificate.at_bound;
  std::erase_if(out, [&](int k) { return end.at.gradient[static_cast<std::size_t>(k)] == 0; });
  return out;
}

// Returns the free nonlinear parameters that have stayed at their start.
std::vector<std::size_t> unmoved(const SolveRequest& request, const MinimizerResult& end,
                                 const std::vector<int>& fixed) {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < end.x.size(); ++j) {
    const bool linear = std::ranges::count(request.known_linear(), static_cast<int>(j)) > 0;
    const bool held = std::ranges::count(fixed, static_cast<int>(j)) > 0;
    if (!linear && !held && is_unmoved(std::fabs(end.x[j] - request.x0[j]), end.at, j)) out.push_back(j);
  }
  return out;
}

// Moves each parameter in `some` whose column of J is 0 by several lengths to either side, and returns the
// first point whose cost is below `enough`. At a point such as n = 1 of if(n == 1, log(x), x^(1-n)), or 0 of
// k*|k|, derivatives do not show the slope, and their differences to both sides may cancel.
std::optional<Vector> lower_where_unseen(DenseEvaluator& evaluator, const SolveRequest& request,
                                         const MinimizerResult& end, std::span<const std::size_t> some,
                                         double enough) {
  constexpr double kLengths[] = {1, 0.1, 0.01, 1e-3, 1e-5, 1e-7};  // times the parameter, or 1
  for (const std::size_t j : some) {
    if (end.at.normal(j, j) != 0) continue;
    const double size = end.x[j] != 0 ? std::fabs(end.x[j]) : 1;
    for (const double length : kLengths) {
      for (const double way : {size, -size}) {
        Vector beside = end.x;
        beside[j] = request.limits.nearest(j, beside[j] + way * length);
        if (evaluator.cost(beside, Format::f64) < enough) return beside;
      }
    }
  }
  return {};
}

}  // namespace

bool is_unmoved(double distance, const Linearization& end, std::size_t parameter) {
  return distance * std::sqrt(end.normal(parameter, parameter)) <= kUnmoved * std::sqrt(2 * end.cost);
}

std::optional<Vector> lower_beside_saddle(DenseEvaluator& evaluator, const SolveRequest& request,
                                          const MinimizerResult& end) try {
  const Certificate& c = end.summary.certificate;
  if (!is_success(end.summary.verdict) || c.governed_by == kZeroResidual) return {};
  if (request.known_linear().size() == end.x.size() || end.at.gradient.size() != end.x.size()) return {};
  const std::vector<int> fixed = pushed(end);
  const std::vector<std::size_t> level = unmoved(request, end, fixed);
  if (level.empty()) return {};
  const double sigma = scatter(c.cost, request.rows.rows(), end.x.size(), request.unit_sigma);
  const double allowed = 0.5 * kNearInNoise * kNearInNoise * sigma * sigma;
  const double enough = c.cost - std::max(kOfContradiction * allowed, 8 * end.cost_noise);
  if (auto beside = lower_where_unseen(evaluator, request, end, level, enough)) return beside;
  std::optional<SampleRows> some;
  if (!request.rows.one_point()) some.emplace(request.rows, kRowsOfSaddle);
  DenseEvaluator part(some ? static_cast<RowModel&>(*some) : request.rows);
  const Box room = request.limits.box();
  // For a function that is only called, each pass takes a call for each parameter.
  const std::size_t passes = request.rows.one_point() ? 8 : 20;
  const std::optional<Vector> along =
      end.x.size() > kMostUnmovedOf
          ? descent_of_some(part, end.x, room, level, passes)
          : descent_from_saddle(part, end.x, room, fixed, part.recheck(end.x, kRowsOfSaddle).magnitude);
  evaluator.add_work(part);
  if (!along) return {};
  Vector beside;
  const auto go = [&](const Vector& step) { move_within(request.limits.box(), end.x, step, {}, beside); };
  const Vector step = lowest_along(*along, enough, [&](const Vector& tried) {
    go(tried);
    return evaluator.cost(beside, Format::f64);
  });
  if (step.empty()) return {};
  go(step);
  return beside;
} catch (...) {
  return {};  // a function that throws beside x gives no information
}

}  // namespace nlsq::inline v0

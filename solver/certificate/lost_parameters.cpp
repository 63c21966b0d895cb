// Compares the rank of J at the end of a fit with its rank at other points.
#include "certificate/ends_of_fits.hpp"

#include "certificate/certificate.hpp"
#include "certificate/certificate_face.hpp"
#include "certificate/second_order_minimum.hpp"

#include "rows/sample_rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kRows = 1 << 14;
// A column of J shorter than elsewhere by this factor does not determine its parameter.
constexpr double kVanished = 1e-12;
// How far from zero a linear parameter is moved, as a share of the value at which its own terms would be as
// large as the terms of the rows.
constexpr double kShare = 0.1;
constexpr std::size_t kMostOneByOne = 4;  // parameters
// A parameter whose terms are smaller than this share of the rows' terms changes no residual.
constexpr double kAsGoodAsZero = 0x1p-52;

struct Determined {
  bool finite = false;
  int rank = 0;
  Vector x, lengths;    // the point, and the root mean square of each column of J
  double residual = 0;  // that of the residuals
};

Vector lengths_of(const Linearization& at, std::size_t rows) {
  Vector out(at.gradient.size());
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = std::sqrt(at.normal(j, j) / static_cast<double>(rows));
  return out;
}

// Computes rank and column lengths at x. A function that throws far from its intended range gives no
// information about the point.
Determined determined_at(DenseEvaluator& evaluator, std::span<const double> x) {
  try {
    const Linearization at = evaluator.linearize(x, kQrPlan);
    const std::size_t rows = evaluator.residuals();
    const double residual = std::sqrt(2 * at.cost / static_cast<double>(rows));
    if (at.finite)
      return {true, numerical_rank(at), Vector(x.begin(), x.end()), lengths_of(at, rows), residual};
  } catch (...) {
  }
  return {};
}

// Returns true if the data determine more parameters there than here, where the terms of the rows have the
// size `terms`. A column must be far shorter here, for the same change of its parameter and for the same
// share of it: with a/b, the column of b is long where b is small, but its share has the same effect. Columns
// count in units of the residuals if these are larger, since all are long where an amplitude is huge.
bool more_than(const Determined& there, const Determined& here, double terms) {
  if (!there.finite) return false;
  const double unit = terms > 0 ? std::max(1.0, there.residual / terms) : 1;
  bool vanished = false;
  for (std::size_t j = 0; j < here.lengths.size(); ++j) {
    const double length = there.lengths[j] / unit;
    const bool by_share = here.x[j] == 0 || there.x[j] == 0 ||
                          here.lengths[j] * std::fabs(here.x[j]) < kVanished * length * std::fabs(there.x[j]);
    vanished = vanished || (by_share && here.lengths[j] < kVanished * length);
  }
  return vanished || there.rank > here.rank;
}

// Returns a point beside the end. Nonlinear parameters move by some percent, or from 0 to 1 if they have no
// effect there. Linear ones move far from zero.
Vector point_beside(const SolveRequest& request, const MinimizerResult& end, const Determined& here,
                    double terms) {
  Vector beside = end.x;
  for (std::size_t j = 0; j < beside.size(); ++j) {
    const bool linear = std::ranges::count(request.known_linear(), static_cast<int>(j)) > 0;
    const bool has_effect = here.lengths[j] > 0;  // for example the b of b²x, at 0
    beside[j] *= j % 2 == 0 ? 1.1 : 0.93;
    if (linear && has_effect) beside[j] += kShare * terms / here.lengths[j];
    if (beside[j] == 0 && (linear || !has_effect)) beside[j] = 1;
  }
  return beside;
}

// Returns the nonlinear parameters whose standard errors are enormous: at such a value a parameter may have
// lost its effect though J has full rank (K -> infinity in q*K*x/(1+K*x)).
std::vector<std::size_t> unknown_parameters(const SolveRequest& request, const MinimizerResult& end) {
  constexpr double kUnknown = 1e6;  // standard error, as a multiple of the parameter
  std::vector<std::size_t> unknown;
  const Matrix& covariance = end.covariance;
  if (covariance.rows() != end.x.size()) return unknown;
  const double sigma =
      scatter(end.summary.certificate.cost, request.rows.rows(), end.x.size(), request.unit_sigma);
  for (const std::size_t j : face_without(end.x.size(), request.known_linear()).kept)
    if (sigma * std::sqrt(covariance(j, j)) > kUnknown * std::fabs(end.x[j])) unknown.push_back(j);
  return unknown;
}

// Returns the points to compare with: the start; the point `beside`; the end, with each parameter that has no
// effect because it is almost zero moved away from zero; and the point `beside` with the undetermined
// parameters, among them those in `open`, made far larger and smaller, and with usual numbers for them, all
// together and one by one. If only linear ones are undetermined, the others move instead: far from its data a
// step like a/(1+exp((c-x)/w))+d is an exponential, and a and d cancel.
std::vector<Vector> other_points(const SolveRequest& request, const MinimizerResult& end,
                                 const Vector& beside, const Determined& here, double terms,
                                 std::vector<std::size_t> open, bool by_calls) {
  const std::vector<int>& confounded = end.summary.certificate.confounded;
  for (const int k : confounded) {
    const auto j = static_cast<std::size_t>(k);
    const bool known = std::ranges::count(request.known_linear(), k) > 0 || std::ranges::count(open, j) > 0;
    if (!known) open.push_back(j);
  }
  const auto seems_linear = [&](int k) { return std::ranges::count(request.linear, k) > 0; };
  if (!confounded.empty() && std::ranges::all_of(confounded, seems_linear)) {
    for (const std::size_t j : face_without(end.x.size(), request.linear).kept)
      if (std::ranges::count(open, j) == 0) open.push_back(j);
  }
  std::vector<Vector> points{request.x0, beside};
  // The b of a*exp(-b*exp(-c*x)) may be 1e-22 where y is constant. Then c has no effect, but no rank is lost.
  for (std::size_t j = 0; j < beside.size(); ++j) {
    const bool zero = std::fabs(end.x[j]) * here.lengths[j] <= kAsGoodAsZero * terms;
    if (!zero || !(here.lengths[j] > 0) || points.size() > 2 + kMostOneByOne) continue;
    points.push_back(end.x);
    points.back()[j] += kShare * terms / here.lengths[j];
  }
  const auto add = [&](auto other_value) {
    Vector all = beside;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const double other = other_value(beside[open[k]]);
      all[open[k]] = other;
      if (k >= kMostOneByOne || open.size() == 1) continue;
      points.push_back(beside);
      points.back()[open[k]] = other;
    }
    if (!open.empty()) points.push_back(std::move(all));
  };
  // The factor -1 finds models such as max(0, a)*x. Each point takes several calls of a function that is
  // called.
  constexpr double kFactors[] = {-1,    1e-3, 1e3,   1e-6, 1e6,   1e-9, 1e9,
                                 1e-12, 1e12, 1e-15, 1e15, 1e-18, 1e18, 1e-21};
  constexpr std::size_t kFewer = 7;
  for (const double factor : std::span(kFactors).first(by_calls ? kFewer : std::size(kFactors)))
    add([&](double value) { return factor * value; });
  if (request.usual_numbers && !open.empty())
    for (const double number : request.usual_numbers()) add([&](double) { return number; });
  for (Vector& point : points) {
    for (std::size_t j = 0; j < point.size(); ++j) point[j] = request.limits.nearest(j, point[j]);
  }
  return points;
}

// Returns true if a parameter has no effect at the end, but other values of it change the cost. It may move a
// jump of the model, such as that of round(p), which derivatives do not show. Recorded models show their
// jumps themselves (jump_parameters). A function that throws gives no information.
bool moves_in_jumps(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end,
                    const Determined& here) try {
  constexpr double kChange = 1e-9;                              // of the cost
  constexpr double kParts[] = {-1, -0.1, -0.01, 0.01, 0.1, 1};  // of the number
  const double cost = evaluator.cost(end.x, Format::f64);
  for (std::size_t j = 0; j < end.x.size(); ++j) {
    if (here.lengths[j] != 0) continue;
    for (const double part : kParts) {
      Vector x = end.x;
      x[j] = request.limits.nearest(j, x[j] + part * std::max(1.0, std::fabs(x[j])));
      const double change = std::fabs(evaluator.cost(x, Format::f64) - cost);
      if (std::isfinite(change) && change > kChange * cost) return true;
    }
  }
  return false;
} catch (...) {
  return false;
}

// At a minimum of zero residual J may lose rank though the minimum is a single point (Powell's singular
// function). There the residuals grow as the undetermined parameters go a part of the way back to the start.
// Where an amplitude has vanished they stay zero.
bool determined_further_out(DenseEvaluator& evaluator, const SolveRequest& request,
                            const MinimizerResult& end, double magnitude) {
  constexpr double kPart = 0.1, kSeen = 1e-10;  // of the way; of the residuals' terms
  constexpr double kGrown = 100;                // a smaller growth may only reflect a far start
  Vector x = end.x;
  for (const int k : end.summary.certificate.confounded) {
    const auto j = static_cast<std::size_t>(k);
    x[j] += kPart * (request.x0[j] - x[j]);
  }
  const double cost = evaluator.cost(x, Format::f64);
  return std::sqrt(2 * cost) > kSeen * magnitude && cost > kGrown * end.summary.certificate.cost;
}

// Where residuals are large, J may lose rank though x is a minimum: there the cost rises by the curvature of
// the residuals (the local minimum of Freudenstein and Roth's function). A function that throws beside x
// gives no information.
bool determined_by_curvature(DenseEvaluator& evaluator, const SolveRequest& request,
                             const MinimizerResult& end, double magnitude) try {
  const Certificate& c = end.summary.certificate;
  return c.verdict == Verdict::rank_deficient &&
         is_second_order_minimum(evaluator, end.x, request.limits.box(), c.at_bound, magnitude);
} catch (...) {
  return false;
}

}  // namespace

bool lost_parameters(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end) {
  const Certificate& c = end.summary.certificate;
  const bool rounding =
      !std::isfinite(c.decrement_sigma) || c.gradient_bound > kMostlyRounding || c.cost == 0;
  const std::vector<std::size_t> unknown = unknown_parameters(request, end);
  if (!rounding && unknown.empty() && end.summary.verdict != Verdict::rank_deficient) return false;
  if (request.known_linear().size() == end.x.size()) return false;  // rank is the same everywhere
  std::optional<SampleRows> some;
  if (!request.rows.one_point()) some.emplace(request.rows, kRows);
  DenseEvaluator part(some ? static_cast<RowModel&>(*some) : request.rows);
  Determined here = determined_at(part, end.x);
  if (!here.finite) return false;
  // Uses all rows where they are available. A sample may miss parameters that few rows depend on.
  here.rank = std::max(here.rank, c.rank);
  if (end.at.gradient.size() == end.x.size()) here.lengths = lengths_of(end.at, request.rows.rows());
  const Recheck terms = part.recheck(end.x, kRows);
  const double size = terms.magnitude / std::sqrt(static_cast<double>(part.residuals()));
  constexpr double kZero = 1e-20;  // of the cost at the start
  const bool zero = c.cost <= kZero * part.cost(request.x0, Format::f64);
  if (zero && determined_further_out(part, request, end, terms.magnitude)) return false;
  std::vector<Vector> points = other_points(request, end, point_beside(request, end, here, size), here, size,
                                            unknown, part.by_calls());
  const auto first_with_more = [&] {
    return std::ranges::find_if(
        points, [&](const Vector& x) { return more_than(determined_at(part, x), here, size); });
  };
  const auto found = first_with_more();
  bool lost = found != points.end();
  // The errors of ordinary differences can make J seem to have a higher rank than it has. Extrapolated
  // differences come with an estimate of their error, so the ranks are compared again with them. They take
  // ten calls a parameter, so the point that seemed to have a higher rank comes first.
  if (lost && evaluator.extrapolate(true)) {
    here.rank = std::max(determined_at(part, end.x).rank, c.rank);
    std::rotate(points.begin(), found, points.end());
    lost = first_with_more() != points.end();
  }
  if (!lost && part.jacobian_error() > 0) lost = moves_in_jumps(part, request, end, here);
  evaluator.add_work(part);
  // All rows are used here: x is a minimum of all, not of the sample.
  return lost && !determined_by_curvature(evaluator, request, end, terms.magnitude);
}

}  // namespace nlsq::inline v0

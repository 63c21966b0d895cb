// Implements the tests: they compare the distance to the optimum and the gradient with their tolerances and
// rounding errors, and detect cases in which these are meaningless (squares that underflow, parameters that
// go to infinity).
#include "blocks/certificate/block_judge.hpp"

#include "blocks/record_rows.hpp"
#include "linear/weighted_rows.hpp"

#include "certificate/certificate.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr double kLostSignificance = 1e-3, kGrown = 1e3, kGrownUnseen = 100, kGrownUndetermined = 1e6;
constexpr double kSquareable = 0x1p-1000;

// Tests whether every component of the step is short, relative either to the parameter or to its standard
// error with all others known (a lower bound of its standard error).
bool every_step_is_short(const BlockPoint& at, const BlockTests& tests, const BlockJudgement& j) {
  const std::vector<double> sizes = tangent_sizes(at.problem, at.structure, at.x);
  const double relative = std::max({tests.xtol, 8 * kUnitRoundoff, j.distance.qr ? j.distance.error : 0.0});
  const double in_sigma = tests.short_of_tau * tests.tau * j.sigma;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (at.is_fixed(k)) continue;
    const double step = std::fabs(j.distance.step[k]);
    if (!(step <= relative * sizes[k] || step * std::sqrt(at.solver.squares()[k]) <= in_sigma)) return false;
  }
  return true;
}

// Detects gradients that are lost because their squares underflow.
bool squares_underflow(const BlockPoint& at) {
  const std::vector<double>& squares = at.solver.squares();
  std::vector<bool> tiny;
  for (std::size_t k = 0; k < squares.size(); ++k)
    tiny.push_back(!at.is_fixed(k) && !(squares[k] > kSquareable));
  bool found = false;
  if (std::ranges::count(tiny, true) == 0) return found;
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    row.for_each([&](std::size_t k, double entry) { found = found || (tiny[k] && entry != 0); });
  });
  return found;
}

// Returns true if a parameter is on its way to infinity, where the cost is flat and has no minimum. Such a
// parameter has grown by orders of magnitude, until a change of its own size moves no residual. The same
// holds for one that has grown even further in a direction that the data do not determine.
bool ran_away(const BlockPoint& at, const BlockTests& tests, double sigma,
              std::span<const int> undetermined) {
  const BlockStructure& s = at.structure;
  for (std::uint32_t p = 0; p < at.problem.parameters.size(); ++p) {
    const ParameterBlock& block = at.problem.parameters[p];
    const std::int64_t first = s.tangent_offset(p);
    if (first < 0 || block.manifold) continue;
    for (int i = 0; i < block.size; ++i) {
      const std::size_t number = s.list.offsets[p] + static_cast<std::size_t>(i),
                        k = static_cast<std::size_t>(first + i);
      if (at.is_fixed(k)) continue;
      const double size = std::fabs(at.x[number]), before = std::max(std::fabs(tests.start[number]), 1.0);
      const double norm = std::sqrt(at.solver.squares()[k]);
      const bool unseen = norm == 0 && size > kGrownUnseen * before;
      const bool insignificant = size > kGrown * before && norm * size <= kLostSignificance * sigma;
      const bool open = std::ranges::find(undetermined, static_cast<int>(k)) != undetermined.end();
      if (unseen || insignificant || (open && size > kGrownUndetermined * before)) return true;
    }
  }
  return false;
}

double relative_step(const BlockPoint& at, std::span<const double> step) {
  const std::vector<double> sizes = tangent_sizes(at.problem, at.structure, at.x);
  double moved = 0, whole = 0;
  for (std::size_t k = 0; k < step.size(); ++k) {
    if (at.is_fixed(k)) continue;
    moved += step[k] * step[k] * at.solver.squares()[k];
    whole += sizes[k] * sizes[k] * at.solver.squares()[k];
  }
  return moved == 0 ? 0 : std::sqrt(moved / whole);
}

// Returns true if there are degrees of freedom. Otherwise there is no scatter to compare with.
bool has_scatter(const BlockPoint& at) { return at.structure.residuals > at.free(); }

// Returns the size of the terms of r with which its rounding is compared. Without scatter, terms may vanish
// together with the residuals (Powell's singular function). Then they count as at least 1.
double size_of_terms(const BlockPoint& at, double terms) {
  return has_scatter(at) ? terms : std::max(terms, 1.0);
}

// Returns true if every residual is small beside the terms of its own row. Without scatter, where all terms
// vanish with the residuals, residuals are compared with 1, as in size_of_terms().
bool every_row_vanishes(const BlockPoint& at, const BlockTerms& terms, double vanishing) {
  const double roundings = terms.magnitude > 0 ? terms.rounding / (kUnitRoundoff * terms.magnitude) : 1;
  const double most = vanishing * std::max(1.0, roundings);
  const bool in_own_unit = !has_scatter(at) && terms.magnitude <= 1;
  return terms.furthest <= most || (in_own_unit && std::sqrt(2 * at.cost) <= most);
}

// Returns true if a solve that a limit or the user has ended can pass no test, since the optimum is too far
// away. Weak directions only add to the distance, so they need not be examined. In bundle adjustment that
// takes as long as several steps.
bool is_too_far(const BlockTests& tests, const Certificate& c) {
  return tests.unfinished && c.decrement_sigma > kNearInNoise;
}

}  // namespace

// Returns true if the residuals are rounding errors. If they are, the model explains about one standard error
// for each parameter. If it explains more, and the residuals exceed their own rounding error, they are
// something else.
bool residuals_vanish(const BlockPoint& at, const BlockTerms& terms, double initial_cost, double explained,
                      double vanishing) {
  const double r = std::sqrt(2 * at.cost);
  const bool explains = r > terms.rounding && !(explained <= 2 * std::sqrt(static_cast<double>(at.free())));
  const bool tiny = zero_residual(at.cost, initial_cost, size_of_terms(at, terms.magnitude)) ||
                    r <= kRoundings * terms.rounding;
  return tiny && every_row_vanishes(at, terms, vanishing) && !(has_scatter(at) && explains);
}

double BlockJudgement::contradiction() const {
  const double within = 0.5 * kNearInNoise * kNearInNoise * sigma * sigma;
  return std::max(within, terms->cost_noise);
}

double block_sigma(double cost, std::size_t residuals, std::size_t determined) {
  const double freedom = static_cast<double>(residuals) - static_cast<double>(determined);
  return std::sqrt(2 * cost / std::max(freedom, 1.0));
}

BlockGradient block_gradient(const SchurSolver& solver, double cost, std::span<const double> noise) {
  const double r = std::sqrt(2 * cost);
  BlockGradient out;
  for (std::size_t k = 0; k < noise.size(); ++k) {
    const double column = std::sqrt(solver.squares()[k]), slope = std::fabs(solver.gradient()[k]);
    if (!(column > 0) || !(r > 0)) continue;
    const double cosine = slope / column / r;
    out.cosine = std::max(out.cosine, cosine);
    out.add(cosine, noise[k] / column / r);
  }
  return out;
}

BlockJudgement judge_point(const BlockPoint& at, const BlockTests& tests,
                           std::shared_ptr<const BlockTerms> terms, const BlockStep* solved) {
  BlockJudgement out;
  Certificate& c = out.certificate;
  c.cost = at.cost;
  c.decrement_sigma = c.step = c.condition = std::numeric_limits<double>::quiet_NaN();
  out.terms = std::move(terms);
  out.distance = block_distance(at, *out.terms, solved);
  apply_tests(at, tests, out);
  if (!c.passed && (tests.stopped || is_too_far(tests, c))) return out;
  if (examine_weak_directions(at, *out.terms, out.distance)) apply_tests(at, tests, out);
  return out;
}

namespace {

// Stores the distance in the certificate.
void store_distance(const BlockPoint& at, BlockJudgement& out) {
  Certificate& c = out.certificate;
  const BlockDistance& d = out.distance;
  const auto determined = d.rank >= 0 ? static_cast<std::size_t>(d.rank) : at.free();
  out.sigma = block_sigma(at.cost, at.structure.residuals, determined);
  if (!d.known) return;
  c.decrement_sigma = out.sigma > 0     ? d.decrement / out.sigma
                      : d.decrement > 0 ? std::numeric_limits<double>::infinity()
                                        : 0;
  c.step = relative_step(at, d.step);
  c.condition = d.condition;
  c.covariance_error = d.error;
  c.qr = d.qr;
  c.rank = d.rank;
}

// Returns true if ‖r‖ consists mostly of rounding errors of rows of huge weight. They determine the scatter,
// and hide what could still be gained in the other rows.
bool heavy_rows_hide_others(const BlockTerms& terms, bool zero) {
  constexpr double kMost = 0.5;
  return !zero && terms.widest_spread > kHeavyRows && terms.vanishing > kMost;
}

// Returns why no test can decide here, or an empty string if one can.
std::string doubt_here(const BlockPoint& at, const BlockTests& tests, const BlockJudgement& out, bool zero) {
  const BlockDistance& d = out.distance;
  if (squares_underflow(at)) return "columns of J are too small to be squared";
  if (ran_away(at, tests, out.sigma, d.undetermined))
    return "a parameter ran away until no residual depends on it";
  // If no number moves a residual, nothing was fitted.
  if (d.known && d.rank == 0 && at.free() > 0 && !zero) return "no residual depends on any parameter here";
  if (heavy_rows_hide_others(*out.terms, zero))
    return "rounding errors of rows of huge weight hide all other rows: give them less weight";
  return "";
}

// Holds the test that holds at a point whose distance to the optimum is known, with its verdict.
struct TestHeld {
  Verdict verdict;
  const char* name;
};
std::optional<TestHeld> test_held(const BlockPoint& at, const BlockTests& tests, const BlockJudgement& out,
                                  bool gradient_rounds) {
  const Certificate& c = out.certificate;
  const bool near = c.decrement_sigma <= tests.tau, flat = c.gradient_norm <= tests.gtol;
  // If the rank is hidden, the distance along the seemingly undetermined directions is hidden, too.
  if (!(c.decrement_sigma <= kNearInNoise) || out.distance.rank_hidden) return std::nullopt;
  if ((near || flat) && every_step_is_short(at, tests, out))
    return TestHeld{Verdict::converged, near ? "decrement+xtol" : "gtol+xtol"};
  if (!gradient_rounds && !(out.promised() <= out.terms->cost_noise)) return std::nullopt;
  return TestHeld{near ? Verdict::converged : Verdict::noise_floor,
                  gradient_rounds ? "gradient bound" : "cost rounding"};
}

}  // namespace

void apply_tests(const BlockPoint& at, const BlockTests& tests, BlockJudgement& out) {
  Certificate& c = out.certificate;
  const BlockDistance& d = out.distance;
  c.passed = false;
  store_distance(at, out);
  const BlockGradient gradient = block_gradient(at.solver, at.cost, out.terms->gradient_noise);
  c.gradient_norm = gradient.cosine;
  c.gradient_bound = gradient.bound;
  const bool zero = residuals_vanish(at, *out.terms, tests.initial_cost, d.known ? c.decrement_sigma : 0);
  if (std::string doubt = doubt_here(at, tests, out, zero); !doubt.empty()) out.doubt = std::move(doubt);
  if (!out.doubt.empty() || (!zero && !(d.known && d.reached))) return;
  const std::optional<TestHeld> held =
      zero ? TestHeld{Verdict::noise_floor, kZeroResidual} : test_held(at, tests, out, gradient.noise);
  if (!held) return;
  c.verdict = held->verdict;
  c.governed_by = held->name;
  c.passed = true;
  // Conjugate gradients do not give the rank of J. The tests hold, but the data might not determine every
  // parameter, so the result is reported as TOLERANCE, which counts as no success.
  if (d.rank >= 0 && d.rank < static_cast<int>(at.free())) c.verdict = Verdict::rank_deficient;
  if (d.rank < 0) {
    c.verdict = Verdict::tolerance;
    c.governed_by += ", rank not examined";
  } else if (d.rank_estimated) {
    c.governed_by += ", rank by the pivots of the factor";
  }
}

}  // namespace nlsq::inline v0

// Computes the certificate of a dense problem: factors J, analyses its rank and covariance, and applies the
// first-order tests.
#include "certificate/certificate.hpp"

#include "certificate/certificate_face.hpp"
#include "dense/dense_algebra.hpp"
#include "linear/determined_subspace.hpp"
#include "linear/small_dense.hpp"
#include "linear/wide_factor.hpp"

#include "program/local_buffer.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {
constexpr std::size_t kFew = 16;  // up to this many parameters nothing is allocated
using Numbers = LocalBuffer<double, kFew>;
using Square = LocalBuffer<double, kFew * kFew>;
std::span<const double> view(Numbers& column) { return {column.data(), column.size()}; }

void safe_norms(const Linearization& at, Numbers& out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double d = std::sqrt(at.normal(j, j));
    out[j] = d > 0 ? d : 1;
  }
}

// Returns ‖D s‖ / ‖D x‖. Leaves out parameters that stay on a bound, and parameters with a zero column, whose
// size is arbitrary.
double relative_size(std::span<const double> step, std::span<const double> x, const Linearization& at,
                     std::span<const Held> held = {}) {
  double s2 = 0, x2 = 0;
  for (std::size_t j = 0; j < step.size(); ++j) {
    if (!held.empty() && held[j] != Held::none && step[j] == 0) continue;
    const double scale = std::sqrt(at.normal(j, j));
    if (!(scale > 0)) continue;
    s2 += step[j] * step[j] * scale * scale;
    x2 += x[j] * x[j] * scale * scale;
  }
  return s2 == 0 ? 0.0 : std::sqrt(s2 / x2);
}

// Holds the scaled triangle R D⁻¹, column-major, and Qᵀr, from QR of the rows or from Cholesky of H.
struct Factor {
  explicit Factor(std::size_t n) : R(n * n), z(n) {}
  Square R;
  Numbers z;
  bool qr = false;
  const Parallelism* threads = nullptr;
  double error = 0;  // error of J, as in ScaledTriangle

  ScaledTriangle triangle(std::span<const double> scale) {
    return {R.data(), z.data(), scale, qr, threads, error};
  }
};

// Overwrites A with its Cholesky factor and z with L⁻¹z.
bool factor_and_solve(double* A, std::size_t n, double* z) {
  if (n <= small_dense::kMost) {
    double pivots[small_dense::kMost];
    if (!small_dense::cholesky(A, n, pivots)) return false;
    small_dense::solve_lower(A, n, pivots, z);
    return true;
  }
  if (!dense::cholesky(A, n)) return false;
  dense::solve_lower(A, n, z);
  return true;
}

// Does the same for many parameters, with the factor stored as a triangle.
bool factor_wide_normal(const Linearization& at, std::span<const double> scale, const Parallelism& threads,
                        Factor& out) {
  const std::size_t n = scale.size();
  for (std::size_t j = 0; j < n; ++j) {
    out.z[j] = at.gradient[j] / scale[j];
    for (std::size_t i = 0; i < n; ++i)
      out.R[j * n + i] = i <= j ? at.normal(j, i) / (scale[i] * scale[j]) : 0.0;
  }
  if (!factor_wide(out.R.data(), n, threads)) return false;
  dense::solve_upper_transposed(out.R.data(), n, n, out.z.data());
  return true;
}

bool factor_normal(const Linearization& at, std::span<const double> scale, Factor& out) {
  const std::size_t n = scale.size();
  out.qr = false;
  if (n >= kWide && out.threads != nullptr) return factor_wide_normal(at, scale, *out.threads, out);
  Square L(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    out.z[j] = at.gradient[j] / scale[j];
    for (std::size_t i = 0; i < n; ++i) L[j * n + i] = at.normal(i, j) / (scale[i] * scale[j]);
  }
  if (!factor_and_solve(L.data(), n, out.z.data())) return false;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) out.R[j * n + i] = i <= j ? L[i * n + j] : 0.0;
  }
  return true;
}

void factor_triangle(const Linearization& at, std::span<const double> scale, Factor& out) {
  const std::size_t n = scale.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out.R[j * n + i] = j >= i ? at.triangle(i, j) / scale[j] : 0.0;
    out.z[i] = at.triangle(i, n);
  }
  out.error = at.derivative_error;
  out.qr = true;
}

// Factors the rows' triangle if there is one, else the normal equations by Cholesky. The normal equations
// suffice while the covariance keeps ten digits. With many parameters the bound n u κ₀ is far too large, as
// rounding errors grow as √n (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). Returns false if a QR pass
// over the rows is needed.
bool factor_with_digits(const Linearization& at, std::span<const double> scale, UndampedSolver& scratch,
                        Factor& out) {
  out.threads = &scratch.solver.threads();
  out.error = at.derivative_error;
  if (!at.triangle.empty()) {
    factor_triangle(at, scale, out);
    return true;
  }
  scratch.solver.set(at, scale);
  scratch.solver.solve(0, scratch.step);
  const double n = static_cast<double>(scale.size());
  return scratch.step.factored && scratch.step.condition < 1e15 && factor_normal(at, scale, out) &&
         (n * kUnitRoundoff * scratch.step.condition < 1e-10 ||
          (scale.size() > small_dense::kMost &&
           std::sqrt(n) * kUnitRoundoff * normal_condition(out.triangle(scale)) < 1e-10));
}

}  // namespace

Step& solve_undamped(const Linearization& at, UndampedSolver& scratch, const Box& room) {
  Numbers scale(at.gradient.size());
  safe_norms(at, scale);
  scratch.solver.set(at, view(scale));
  scratch.solver.keep_within(room);
  scratch.solver.solve(0, scratch.step);
  return scratch.step;
}

bool judge_covariance(const Linearization& at, Certified& out) {
  const std::size_t n = at.gradient.size();
  out.certificate = {};
  out.step.assign(n, 0.0);
  Numbers scale(n);
  safe_norms(at, scale);
  Factor factor(n);
  UndampedSolver scratch;
  if (!factor_with_digits(at, view(scale), scratch, factor)) return false;
  analyse(factor.triangle(view(scale)), out);
  return true;
}

int numerical_rank(const Linearization& at) {
  const std::size_t n = at.gradient.size();
  Numbers scale(n);
  safe_norms(at, scale);
  Factor factor(n);
  factor_triangle(at, view(scale), factor);
  return static_cast<int>(numerical_rank(factor.triangle(view(scale))));
}

void undamped_step(const Linearization& at, std::span<const double> x, std::size_t rows, bool unit_sigma,
                   UndampedSolver& scratch, UndampedStep& out, const Box& room) {
  Step& step = solve_undamped(at, scratch, room);
  out.usable = step.factored;
  out.condition = out.decrement = out.decrement_sigma = out.step_size = 0;
  out.held.clear();
  if (!step.factored) return;
  out.condition = step.condition;
  out.decrement = step.nu;
  std::size_t free = x.size();
  for (const Held side : step.held) free -= side != Held::none ? 1 : 0;
  const double sigma = scatter(at.cost, rows, free, unit_sigma);
  out.decrement_sigma = sigma > 0 ? step.nu / sigma : kInfinity;
  if (sigma == 0 && free == 0 && step.nu == 0) out.decrement_sigma = 0;  // nothing is left to move
  out.step_size = relative_size(step.step, x, at, step.held);
  out.step.swap(step.step);
  out.held.swap(step.held);
}

namespace {

// Factors J, or the columns of `face`, and analyses the factor. If the normal equations have too few digits,
// makes a QR pass over the rows first. Returns false if that pass is not finite.
bool examine(Evaluator& evaluator, std::span<const double> x, Linearization& at, const Face* face,
             UndampedSolver& scratch, Certified& out) {
  Linearization part;
  const Linearization* seen = &at;
  const auto look = [&] {
    if (face == nullptr) return;
    part = restricted(at, *face);
    seen = &part;
  };
  look();
  const std::size_t n = seen->gradient.size();
  Numbers norms(n);
  safe_norms(*seen, norms);
  const std::span<const double> scale = view(norms);
  Factor factor(n);
  if (!factor_with_digits(*seen, scale, scratch, factor)) {
    Linearization by_qr = evaluator.linearize(x, kQrPlan);
    if (!by_qr.finite) return false;
    at = std::move(by_qr);
    out.certificate.cost = at.cost;
    look();
    factor_triangle(*seen, scale, factor);
  }
  out.step.assign(n, 0.0);
  analyse(factor.triangle(scale), out);
  out.certificate.step = face == nullptr ? relative_size(out.step, x, *seen)
                                         : relative_size(out.step, restricted(x, *face), *seen);
  return true;
}

// Does the same for an x on bounds, for the free parameters.
bool examine_face(Evaluator& evaluator, std::span<const double> x, Linearization& at, const Face& face,
                  UndampedSolver& scratch, Certified& out) {
  if (face.kept.empty()) {
    out.step.clear();
    out.covariance.assign(0, 0);
    out.certificate.condition = 1;
    expand(face, out);
    return true;
  }
  if (!examine(evaluator, x, at, &face, scratch, out)) return false;
  expand(face, out);
  return true;
}

// Describes a point where the first-order tests are within rounding errors.
struct WithinRounding {
  bool alone = false;  // the residuals are their own rounding errors
  bool near = false;   // x is a minimum as far as f64 can tell: ν₀ and the error of ν₀ are far below σ
  bool blurred = true;  // the error of ν₀ is not far below σ
};

// Uses the bounds of the rounding errors where they lead to a clear result. Otherwise it measures the
// rounding errors by a pass over the rows, because near a large offset the bounds are several times larger
// than the errors.
WithinRounding within_rounding(Evaluator& evaluator, std::span<const double> x, const Linearization& at,
                               const CertificateTests& tests, double nu, double sigma, std::size_t free,
                               UndampedSolver& scratch) {
  constexpr double kRoundings = 5, kOfFew = 1, kOfMany = 0.25;
  const bool near = sigma > 0 && nu <= kNearInNoise * sigma;
  WithinRounding out;
  out.alone = residuals_are_rounding(at.cost, tests.magnitude);
  out.blurred = sigma > 0 && grid_decrement(at, x) > kNearInNoise * sigma;
  out.near = near && !out.blurred;
  if (out.near || (!out.alone && !near) || at.cost == 0) return out;
  const MeasuredRounding error = measure_rounding(evaluator, x, at, tests, scratch);
  if (!error.known()) return out;
  // Few rows may have no rounding error by chance, so residuals below a part of the bound count as rounding,
  // too. Where many residuals are only rounding, ν₀ should be at most about one standard error for each
  // parameter, plus the effect of the rounding of x.
  const bool few = evaluator.residuals() <= 3 * free;
  const double r = std::sqrt(2 * at.cost), least = (few ? kOfFew : kOfMany) * kUnitRoundoff * tests.magnitude;
  const double most = std::max(kRoundings * error.residuals, least);
  const double noise = 2 * std::sqrt(static_cast<double>(free)) * sigma + grid_decrement(at, x);
  const bool explains = !few && nu > noise;
  out.alone = out.alone && r <= (explains ? error.residuals : most);
  out.blurred = 2 * error.decrement > kNearInNoise * sigma;
  out.near = near && std::hypot(nu, 2 * error.decrement) <= kNearInNoise * sigma;
  return out;
}

bool apply_tests(Evaluator& evaluator, std::span<const double> x, const Linearization& at,
                 const CertificateTests& tests, std::size_t free, UndampedSolver& scratch, Certified& out) {
  Certificate& c = out.certificate;
  const double nu = c.decrement_sigma;
  const double sigma =
      scatter(c.cost, evaluator.residuals(), static_cast<std::size_t>(c.rank), tests.unit_sigma);
  c.decrement_sigma = sigma > 0 ? nu / sigma : kNaN;
  c.gradient_norm = gradient_cosine(at, tests.room);
  const GradientNoise rounding =
      gradient_noise(at, tests.magnitude, tests.column_magnitude, evaluator.jacobian_error(), tests.room);
  c.gradient_bound = rounding.bound;
  const bool near = sigma > 0 && c.decrement_sigma <= tests.tau;
  const bool flat = is_flat(c.gradient_norm, tests.gtol, c.decrement_sigma);
  const bool settled = c.step <= std::max(tests.xtol, c.qr ? c.covariance_error : 0.0);
  // Where a parameter is nearly 0, rounding errors inside the function may keep the step from becoming short
  // beside it. The minimum is found if steps do not help, and what is left is nothing beside the noise.
  constexpr double kNothing = 1e-6;  // standard errors
  const bool exhausted =
      tests.no_progress && c.rank == static_cast<int>(free) && c.decrement_sigma <= kNothing;
  // With nearly dependent columns, a gradient of rounding size may still be far from the optimum. The same
  // holds for a gradient within its bound if the terms are far larger than σ.
  const WithinRounding within = within_rounding(evaluator, x, at, tests, nu, sigma, free, scratch);
  const bool below_noise = nu <= decrement_noise(c.cost, tests.magnitude);
  const bool noise =
      rounding.noise && ((within.near && (near || below_noise)) || (within.alone && below_noise));
  // Small residuals may be noise of precise data, or the way to a minimum that is lower still. If the
  // gradient is more than rounding, steps may help, and the residuals count as zero only if they do not.
  const bool zero =
      zero_residual(c.cost, tests.initial_cost, tests.magnitude) && (rounding.noise || tests.no_progress);
  // Where terms of the residuals cancel and their rounding is not far below σ, the rank may look too low. The
  // data may still determine the missing directions, so there is no certificate.
  const bool hidden = c.rank < static_cast<int>(free) && !within.alone &&
                      kUnitRoundoff * tests.magnitude > kNearInNoise * sigma;
  if (hidden && !zero) return false;
  // If squares underflow, the computed gradient is meaningless. And if no parameter changes the residuals,
  // nothing was fitted.
  if (tests.underflow || (c.rank == 0 && free > 0 && !zero)) return false;
  if ((near || flat) && settled && (!within.blurred || within.alone)) {
    c.verdict = Verdict::converged;
    c.governed_by = free == 0 ? "bounds" : near ? "decrement+xtol" : "gtol+xtol";
  } else if (noise || zero || (exhausted && !within.blurred)) {
    c.verdict = Verdict::noise_floor;
    c.governed_by = noise ? "gradient bound" : zero ? kZeroResidual : "decrement";
  } else {
    return false;
  }
  if (c.rank < static_cast<int>(free)) c.verdict = Verdict::rank_deficient;
  c.passed = out.first_order = true;
  return true;
}

}  // namespace

void certify(Evaluator& evaluator, std::span<const double> x, Linearization& at,
             const CertificateTests& tests, UndampedSolver& scratch, Certified& out) {
  out.certificate = {};
  out.covariance.assign(0, 0);
  out.first_order = false;
  out.certificate.cost = at.cost;
  out.step.assign(x.size(), 0.0);
  if (!at.finite) return;  // residuals are finite but derivatives are not: nothing to certify
  if (tests.room.empty()) {
    if (examine(evaluator, x, at, nullptr, scratch, out))
      apply_tests(evaluator, x, at, tests, x.size(), scratch, out);
    return;
  }
  const Step model = solve_undamped(at, scratch, tests.room);
  Face face = pushed_face(at, tests.room, model);
  if (!examine_face(evaluator, x, at, face, scratch, out)) return;
  const bool passed = apply_tests(evaluator, x, at, tests, face.kept.size(), scratch, out);
  if (model.factored) out.step = model.step;  // may end on bounds that x has not reached
  // For the covariance, all parameters on a bound count as fixed, also those that the cost does not push
  // there.
  const Face touched = touched_face(tests.room);
  if (passed && touched.held != face.held) {
    Certified conditional;
    if (examine_face(evaluator, x, at, touched, scratch, conditional)) {
      Certificate &c = out.certificate, &d = conditional.certificate;
      c.rank = d.rank;
      c.condition = d.condition;
      c.confounded = std::move(d.confounded);
      c.covariance_error = d.covariance_error;
      out.covariance = std::move(conditional.covariance);
      if (c.verdict == Verdict::rank_deficient && c.rank == static_cast<int>(touched.kept.size()))
        c.verdict = Verdict::converged;
      face = touched;
    }
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (face.held[j]) out.certificate.at_bound.push_back(static_cast<int>(j));
  }
}

}  // namespace nlsq::inline v0

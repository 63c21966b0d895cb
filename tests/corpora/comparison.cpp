// Compares a run with the f64 run and with the oracle.
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace problems {

namespace {

constexpr double kU = 0x1p-53;

// Returns σ of the f64 run from its degrees of freedom, if there are any.
double sigma_of(const nlsq::FitResult& fit) {
  const double dof = static_cast<double>(fit.rows) - static_cast<double>(fit.parameters.size());
  return dof > 0 ? std::sqrt(2 * fit.summary.final_cost / dof) : 0;
}

double terms(const Problem& problem) {
  double squares = 0;
  for (std::size_t i = 0; i < problem.rows(); ++i) {
    const double y = problem.y[i] / (problem.sigma.empty() ? 1 : problem.sigma[i]);
    squares += y * y;
  }
  return 2 * std::sqrt(squares);
}

}  // namespace

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::same: return "same";
    case Outcome::better: return "better";
    case Outcome::worse_minimum: return "worse minimum";
    case Outcome::lower: return "lower";
    case Outcome::lost: return "lost";
    case Outcome::both_failed: return "both failed";
  }
  return "?";
}

Comparison compare(const Problem& problem, const nlsq::FitResult& fit, const nlsq::FitResult& f64) {
  Comparison out;
  out.same_verdict = fit.summary.verdict == f64.summary.verdict;
  if (!f64.success()) {
    out.outcome = fit.success() ? Outcome::better : Outcome::both_failed;
    return out;
  }
  if (!fit.success()) {
    const bool finite = fit.summary.termination != nlsq::Termination::failure;
    out.outcome = finite && fit.summary.final_cost < f64.summary.final_cost * (1 - 1e-6) ? Outcome::lower
                                                                                         : Outcome::lost;
    return out;
  }
  const double sigma = sigma_of(f64), rounding = kU * terms(problem);
  bool determined = true;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double difference = std::fabs(fit.parameters[j] - f64.parameters[j]),
                 error = f64.standard_errors[j];
    determined = determined && std::isfinite(error) && std::isfinite(fit.standard_errors[j]);
    if (!std::isfinite(error)) continue;
    // Rounding of the residuals changes a parameter by this much in any solver.
    const double unavoidable =
        16 * (error > 0 && sigma > 0 ? error / sigma * rounding : 0) + 1e-14 * std::fabs(f64.parameters[j]);
    const double beyond = std::max(0.0, difference - unavoidable);
    if (error > 0) out.in_errors = std::max(out.in_errors, beyond / error);
    if (beyond > 0)
      out.relative = std::max(out.relative, beyond / std::max(std::fabs(f64.parameters[j]), error));
  }
  // Costs are in units of σ². They are half of the squared distance in standard errors.
  const double gap = fit.summary.final_cost - f64.summary.final_cost;
  const double noise = rounding * (std::sqrt(2 * f64.summary.final_cost) + rounding) * 8;
  const double room = 1e-6 * sigma * sigma + 1e-9 * f64.summary.final_cost + noise;
  // If both are certified and fit exact data to nine digits, the rest is rounding of the model's terms.
  const auto floor = [&](const nlsq::FitResult& of) {
    return std::sqrt(2 * of.summary.final_cost) <= 1e-9 * terms(problem);
  };
  const bool alike =
      (determined && (out.in_errors <= 1e-3 || out.relative <= 1e-8)) || (floor(fit) && floor(f64));
  if (alike || std::fabs(gap) <= room)
    out.outcome = Outcome::same;  // also for mirror images and exchanged terms, which are the same minimum
  else out.outcome = gap < 0 ? Outcome::better : Outcome::worse_minimum;
  out.renamed = !alike && determined && out.outcome == Outcome::same;
  return out;
}

std::string false_certificate(const Reference& reference, const nlsq::FitResult& fit, double copies) {
  if (!fit.success()) return {};
  const nlsq::Certificate& c = fit.summary.certificate;
  const bool deficient = fit.summary.verdict == nlsq::Verdict::rank_deficient;
  const Distance d = reference.distance(fit.parameters, deficient ? c.rank : 0);
  if (!d.finite) return "the residuals are not finite";
  const double rounding = 64 * kU * d.magnitude, r = std::sqrt(2 * d.cost);
  // Cancellation inside the model, in the callable in double and in the program, may change the residuals by
  // an amount that moves no parameter by tau standard errors.
  const double room = std::max(1e-6, 1e-3 / std::sqrt(static_cast<double>(fit.rows)));
  if (!(std::fabs(r - std::sqrt(2 * c.cost / copies)) <= rounding + room * r)) {
    return fmt::format("cost {:.17g} is {:.17g} in truth", c.cost / copies, d.cost);
  }
  // Rounding columns to double may add to their rank, but never by more than some hundred roundings. (Long
  // double represents derivatives of 1e-400, where f64 has zero.)
  if (deficient && d.next_singular > 1e-13 && !d.beyond_f64) {
    return fmt::format("rank {} is claimed, the next singular value is {:.1e}", c.rank, d.next_singular);
  }
  // A certificate promises a distance of 1e-3 standard errors, or of the rounding of the residuals if that is
  // more. Without degrees of freedom, or if the fit is exact to ten digits, the angle of the gradient
  // decides.
  const bool near = d.in_standard_errors() * std::sqrt(copies) <= 2e-3,
             within_rounding = d.decrement <= rounding + 64 * kU * r;
  const bool flat = d.cosine <= 2e-10 && d.relative_step <= 1e-9;
  if (near || within_rounding || flat) return {};
  return fmt::format("{:.2e} standard errors from the optimum, cosine {:.2e}, step {:.1e}, rounding {:.1e}",
                     d.in_standard_errors(), d.cosine, d.relative_step, rounding / r);
}

std::string unsound_report(const nlsq::FitResult& fit) {
  const nlsq::Summary& s = fit.summary;
  for (const double p : fit.parameters) {
    if (!std::isfinite(p)) return "a parameter is not finite";
  }
  if (s.termination == nlsq::Termination::failure) return {};
  if (!std::isfinite(s.final_cost)) return "the cost is not finite";
  if (s.final_cost > s.initial_cost * (1 + 1e-3))
    return fmt::format("the cost rose from {:.9g} to {:.9g}", s.initial_cost, s.final_cost);
  if (!fit.success()) return {};
  if (!std::isfinite(s.certificate.gradient_norm) || !std::isfinite(s.certificate.step))
    return "the certificate holds NaN";
  if (!s.certificate.passed || !s.certificate.recheck_passed) return "a success without a certificate";
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double error = fit.standard_errors[j];
    if (s.verdict != nlsq::Verdict::rank_deficient && fit.dof > 0 && fit.rss > 0 &&
        !(std::isfinite(error) && error >= 0)) {
      return fmt::format("the standard error of {} is {}", fit.parameter_names[j], error);
    }
  }
  for (const nlsq::IterationSummary& it : s.iterations) {
    if (!std::isfinite(it.cost) || std::isnan(it.gradient_norm) || std::isnan(it.step_norm)) {
      return fmt::format("iteration {} ({}) holds NaN: cost {:.3e}, gradient {:.3e}, step {:.3e}",
                         it.iteration, name(it.outcome), it.cost, it.gradient_norm, it.step_norm);
    }
  }
  return {};
}

bool has_event(const nlsq::FitResult& fit, nlsq::Event event) {
  return std::any_of(fit.summary.iterations.begin(), fit.summary.iterations.end(),
                     [event](const nlsq::IterationSummary& it) { return it.event == event; });
}

}  // namespace problems

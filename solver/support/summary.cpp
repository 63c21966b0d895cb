// Defines names of the summary's enumerators, and the text reports.
#include <nlsq/summary.hpp>

#include "enum_names.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

const char* name(Termination termination) noexcept {
  static constexpr const char* kNames[] = {
      "converged",          "tolerance met",           "no further progress", "iteration limit reached",
      "time limit reached", "stopped by the callback", "failed at the start"};
  return name_in<Termination::failure>(kNames, termination);
}

const char* name(Verdict verdict) noexcept {
  static constexpr const char* kNames[] = {"CONVERGED", "NOISE_FLOOR", "RANK_DEFICIENT",
                                           "TOLERANCE", "BUDGET",      "FAILED"};
  return name_in<Verdict::failed>(kNames, verdict);
}

const char* name(StepOutcome outcome) noexcept {
  static constexpr const char* kNames[] = {"accepted", "rejected", "invalid", "escalated"};
  return name_in<StepOutcome::escalated>(kNames, outcome);
}

bool is_success(Verdict verdict) noexcept {
  return verdict == Verdict::converged || verdict == Verdict::noise_floor ||
         verdict == Verdict::rank_deficient;
}

namespace {

// Returns, as in "bf16×5 → f32×2 → f64×2", the number of steps in each precision, named by the fewest digits
// of rows and Gram matrix. "f64+bf16" means f64 rows with a bf16 Gram matrix.
std::string precision_path(const Summary& s) {
  std::string path;
  for (std::size_t i = 0; i < s.iterations.size();) {
    const std::string formats = short_name(s.iterations[i].plan);
    int steps = 0;
    for (; i < s.iterations.size() && short_name(s.iterations[i].plan) == formats; ++i) {
      steps += s.iterations[i].outcome != StepOutcome::escalated;
    }
    path += fmt::format("{}{}×{}", path.empty() ? "" : " → ", formats, steps);
  }
  return path.empty() ? "f64×0" : path;
}

std::string rows_counted(const KernelCounters& k) {
  return fmt::format("f64 {}, f32 {}", k.rows_f64, k.rows_f32);
}
std::string flops_counted(const KernelCounters& k) {
  return fmt::format("f64 {}, f32 in f64 {}, f32 {}, bf16 {}, f16 {}; QR {}", k.gram_flops_f64,
                     k.gram_flops_f32_wide, k.gram_flops_f32, k.gram_flops_bf16, k.gram_flops_f16,
                     k.qr_flops_f64);
}

}  // namespace

std::string Summary::brief_report() const {
  return fmt::format(
      "{}: cost {:.9g} → {:.9g}, {} steps accepted, {} rejected; {}{}{}, {} ({})", name(verdict),
      initial_cost, final_cost, accepted, rejected, precision_path(*this),
      certificate.passed ? ", certified" : "",
      std::isnan(certificate.condition) ? "" : fmt::format(", κ={:.1e}", certificate.condition), evaluator,
      kernel);
}

std::string Summary::full_report() const {
  const KernelCounters& k = precision.counters;
  std::string out = brief_report() + "\n" + message + "\n";
  out += fmt::format("  gradient (cosine)     {:.3e}  (rounding bound {:.3e})\n", certificate.gradient_norm,
                     certificate.gradient_bound);
  out += fmt::format("  distance to optimum   {}\n",
                     std::isfinite(certificate.decrement_sigma)
                         ? fmt::format("{:.3e} standard errors", certificate.decrement_sigma)
                         : "unknown: nothing scatters");
  out += fmt::format("  undamped f64 step     {:.3e} relative\n", certificate.step);
  if (!eliminated.empty())
    out += fmt::format("  eliminated            {} linear parameter{}\n", eliminated.size(),
                       eliminated.size() == 1 ? "" : "s");
  if (certificate.last_step > 0) {
    out += fmt::format(
        "  last step             {:.3e} relative, from the last pass over all rows; what it leaves is "
        "bounded above\n",
        certificate.last_step);
  }
  const auto examined = [](bool known, std::string value) { return known ? value : "not examined"; };
  out += fmt::format(
      "  condition, rank       {}, {}{}\n",
      examined(!std::isnan(certificate.condition), fmt::format("{:.3e}", certificate.condition)),
      examined(certificate.rank >= 0, fmt::to_string(certificate.rank)), certificate.qr ? " (by QR)" : "");
  if (!step_solver.empty())
    out += fmt::format("  steps solved by       {}{}\n", step_solver,
                       linear_iterations > 0 ? fmt::format(", {} iterations", linear_iterations) : "");
  out += fmt::format("  callable re-checked   {} row evaluations, largest difference {:.1e}\n",
                     certificate.rechecked_rows, certificate.recheck_discrepancy);
  out += fmt::format("  rows evaluated        {}\n", rows_counted(k));
  out += fmt::format("  Gram flops            {}\n", flops_counted(k));
  for (const ComponentSummary& c : precision.components) {
    out += fmt::format("  component {}: {} rows, evaluated {}; Gram flops {}\n", c.name, c.rows,
                       rows_counted(c.counters), flops_counted(c.counters));
  }
  out += fmt::format("  seconds               {:.3g} in all, {:.3g} in passes\n", time.total, time.evaluate);
  if (!evaluator_note.empty()) out += "  " + evaluator_note + "\n";
  return out;
}

std::string Summary::trace_report() const {
  std::string out =
      fmt::format("{:>4} {:>9} {:>15} {:>9} {:>9} {:>8} {:>7} {:>4} {:>7} {:>8} {:>9} {:>9}  {}\n", "iter",
                  "rows", "cost", "gradient", "nu/sigma", "lambda", "rho", "in", "gram", "kappa", "f32 rows",
                  "f64 rows", "outcome");
  for (const IterationSummary& it : iterations) {
    out += fmt::format(
        "{:>4} {:>9} {:>15.9g} {:>9.2e} {:>9.2e} {:>8.1e} {:>7} {:>4} {:>7} {:>8.1e} {:>9} {:>9}  {}",
        it.iteration, it.rows, it.cost, it.gradient_norm, it.decrement_sigma, it.lambda,
        std::isfinite(it.rho) ? fmt::format("{:.3g}", it.rho) : "-", name(it.plan.residual),
        name(it.plan.gram), it.condition, it.counters.rows_f32, it.counters.rows_f64, name(it.outcome));
    if (it.linear_iterations > 0) out += fmt::format(", {} conjugate gradients", it.linear_iterations);
    if (it.event != Event::none) out += fmt::format(": {} ({})", name(it.event), it.reason);
    else if (!it.reason.empty()) out += fmt::format(" ({})", it.reason);
    out += '\n';
  }
  out += fmt::format("kernels counted: rows {}; Gram flops {}\n", rows_counted(precision.counters),
                     flops_counted(precision.counters));
  for (const PrecisionIssue& issue : precision.issues) {
    out += fmt::format(
        "issue: iteration {}, {}{} in {}: {} NaN, {} infinite, {} near the limit, in {} rows\n",
        issue.iteration, issue.component.empty() ? "" : issue.component + ", ", name(issue.operation),
        name(issue.format), issue.nan, issue.inf, issue.near_limit, issue.rows);
  }
  return out;
}

}  // namespace nlsq::inline v0

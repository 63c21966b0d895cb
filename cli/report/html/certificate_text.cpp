// Implements the sentences about the certificate.
#include "report/html/certificate_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::cli {

namespace {

using Sentences = std::vector<std::string>;

std::string names(const FitResult& fit, const std::vector<int>& free_indices) {
  return fmt::format("{}", fmt::join(free_names(fit, free_indices), ", "));
}

void add_distance(const Certificate& c, Sentences& out) {
  if (!c.governed_by.empty()) out.push_back(fmt::format("The test that decided is {}.", c.governed_by));
  if (std::isfinite(c.decrement_sigma)) {
    out.push_back(fmt::format(
        "The exact minimum is about {:.1e} standard errors away, so further iterations would change "
        "the parameters by no more than that.",
        c.decrement_sigma));
  } else {
    out.emplace_back(
        "The distance to the exact minimum in standard errors is not defined, because nothing scatters.");
  }
  out.push_back(fmt::format("The undamped float64 step that is left has the relative size {:.1e}.", c.step));
  out.push_back(
      fmt::format("The largest cosine between the residuals and a column of the Jacobian is {:.1e}. At an "
                  "exact minimum it is 0; rounding alone can make it {:.1e}.",
                  c.gradient_norm, c.gradient_bound));
  if (c.last_step > 0) {
    out.push_back(fmt::format(
        "The last step, of relative size {:.1e}, was taken without another pass over all rows. The "
        "figures here belong to its start and bound what it leaves.",
        c.last_step));
  }
}

void add_condition(const FitResult& fit, const Certificate& c, Sentences& out) {
  out.push_back(fmt::format(
      "The condition number of the scaled normal matrix is {:.1e}, and the data determine {} parameter{}.",
      c.condition, c.rank, c.rank == 1 ? "" : "s"));
  if (!c.confounded.empty())
    out.push_back(fmt::format("The data cannot tell these apart: {}.", names(fit, c.confounded)));
  if (!c.at_bound.empty()) {
    out.push_back(
        fmt::format("On a bound: {}. All other figures take these as fixed there.", names(fit, c.at_bound)));
  }
  out.push_back(fmt::format("The covariance is computed {} with a relative error of at most {:.1e}.",
                            c.qr ? "from a QR decomposition of the Jacobian" : "from the normal equations",
                            c.covariance_error));
}

void add_recheck(const Certificate& c, Sentences& out) {
  if (c.rechecked_rows == 0) return;
  // Rows are checked at the start and at the end, and count each time.
  out.push_back(
      fmt::format("{} row evaluation{} made again by the formula as it was typed, at the start and at the "
                  "end, without the "
                  "compiled program. The largest difference is {:.2g} times the rounding of the terms: {}.",
                  c.rechecked_rows, c.rechecked_rows == 1 ? " was" : "s were", c.recheck_discrepancy,
                  c.recheck_passed ? "they agree" : "they do not agree"));
}

}  // namespace

std::string verdict_sentence(Verdict verdict) {
  switch (verdict) {
    case Verdict::converged:
      return "This is a minimum: gradient and remaining step vanish to tolerance in float64.";
    case Verdict::noise_floor:
      return "This is a minimum as far as float64 can tell: the gradient is below its own rounding.";
    case Verdict::rank_deficient: return "This is a minimum, but the data do not determine every parameter.";
    case Verdict::tolerance:
      return "A tolerance of yours was met. Whether this is a minimum is not certified.";
    case Verdict::budget:
      return "The iteration ended before a minimum was certified. These are the best parameters so far.";
    case Verdict::failed: break;
  }
  return "Nothing is certified about these parameters.";
}

Sentences certificate_sentences(const FitReport& report) {
  const Summary& summary = report.fit.summary;
  const Certificate& c = summary.certificate;
  Sentences out;
  add_distance(c, out);
  add_condition(report.fit, c, out);
  add_recheck(c, out);
  const int raised = summary.precision.escalations;
  out.push_back(
      fmt::format("The precision policy is {}. The precision was raised {} time{} during the fit, and "
                  "every figure of this certificate is float64.",
                  summary.precision.policy, raised, raised == 1 ? "" : "s"));
  return out;
}

}  // namespace nlsq::cli

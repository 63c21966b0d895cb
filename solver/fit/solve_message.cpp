// Implements message_of_end(): describes how a solve ended and, if it has no success, what would help.
#include "certificate/ends_of_fits.hpp"
#include "certificate/hidden_minimum.hpp"
#include "dense/dense_evaluator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Describes the number whose square over- or underflows, which is in `column` of [J | r] at x, and what
// helps. If a parameter is far from 1, its derivatives may be extreme although y is of ordinary size.
std::pair<std::string, const char*> extreme(std::span<const double> x, std::size_t column) {
  constexpr double kFar = 1e50;
  if (column >= x.size()) return {"residuals", "Give y and sigma in units in which they are near 1."};
  const double value = std::fabs(x[column]);
  return {
      fmt::format("derivatives by the parameter that is {:.3g}", x[column]),
      value > 1 / kFar && value < kFar
          ? "Give y, sigma and parameters in units in which they are near 1."
          : "Give x another unit, or a zero amid its values, so that this parameter is near 1; or write the "
            "model with its logarithm."};
}

std::string failure_message(std::span<const double> x, const RowSizes& sizes, const FreeNames& names) {
  if (!sizes.finite && sizes.largest_column == x.size()) {
    return fmt::format(
        "the residual of row {} is not finite at the starting values; parameters are unchanged. Start where "
        "the "
        "model is defined, or leave the row out.",
        sizes.row);
  }
  if (!sizes.finite) {
    const std::size_t j = sizes.largest_column;
    return fmt::format(
        "the residual of row {} is finite at the starting values, but not its derivative by {} (here "
        "{:.6g}); "
        "parameters are unchanged. Start elsewhere, leave the row out, or write the value there as a case of "
        "its own, as in if(x > 0, ..., 0).",
        sizes.row, names.of(j), x[j]);
  }
  constexpr double kOrdinary = 1e140;  // the squares of even a trillion of these are finite
  if (sizes.largest < kOrdinary) {
    return fmt::format(
        "the function seems to change its x, or what else it reads: at the starting values it gave no more "
        "than {:.1e}, and where the fit began it gave numbers that are not finite or whose squares overflow; "
        "parameters are unchanged. Let it work on a copy.",
        sizes.largest);
  }
  const auto [what, advice] = extreme(x, sizes.largest_column);
  return fmt::format(
      "{} are as large as {:.1e} at the starting values (row {}), and their squares overflow; parameters are "
      "unchanged. {}",
      what, sizes.largest, sizes.row, advice);
}

std::string recheck_message(const MinimizerResult& result) {
  const Summary& s = result.summary;
  constexpr double kRounding = 1e-3;  // larger differences are not rounding, even if magnified
  if (result.repeats && s.certificate.recheck_discrepancy < kRounding && s.evaluator == "graph") {
    return fmt::format(
        "the same residuals, computed in another order, differ by up to {:.1e} of their size: terms of the "
        "model cancel, and "
        "what is left is rounding. Nothing is certified; write the model so that nothing cancels "
        "(2*sin(x/2)^2 for 1-cos(x), expm1(x) for exp(x)-1).",
        s.certificate.recheck_discrepancy);
  }
  return fmt::format(
      "the {} evaluator disagrees with the callable re-evaluated in double (largest relative difference "
      "{:.1e}): does the callable change between calls, or does it change its data (x)? Nothing is "
      "certified.",
      s.evaluator, s.certificate.recheck_discrepancy);
}

std::string lost_message(const MinimizerResult& result) {
  const Certificate& c = result.summary.certificate;
  const std::size_t moved = result.x.size() - c.at_bound.size();
  const std::string found = static_cast<std::size_t>(c.rank) < moved
                                ? fmt::format("the data determine only {} of {} parameters", c.rank, moved)
                                : "some parameter has no effect beyond rounding";
  return fmt::format(
      "no usable minimum: where the fit ended {}, elsewhere more, so a parameter probably went to infinity, "
      "or the start "
      "was too far away. "
      "Give other starting values (p0), or try several starts.",
      found);
}

std::string held_message(const Certificate& c) {
  if (c.at_bound.empty()) return {};
  return c.at_bound.size() == 1 ? ", 1 parameter at a bound"
                                : fmt::format(", {} parameters at bounds", c.at_bound.size());
}

// Returns the message. `sizes` are those of the rows at x, for a failed start or underflowing squares.
std::string message_of(const MinimizerResult& result, const DenseEvaluator& evaluator, const RowSizes& sizes,
                       const FreeNames& names) {
  const Summary& s = result.summary;
  if (s.termination == Termination::failure) return failure_message(result.x, sizes, names);
  if (s.certificate.wrong_column >= 0) {
    return fmt::format(
        "the Jacobian given disagrees with differences of the residuals: column {} (counted from 0) is off "
        "by {:.1e} of its "
        "size. Nothing is certified; correct it, or leave it out and have derivatives taken.",
        s.certificate.wrong_column, s.certificate.jacobian_difference);
  }
  if (!s.certificate.recheck_passed) return recheck_message(result);
  if (result.lost_parameters) return lost_message(result);
  if (result.outweighed) return kOutweighed;
  if (result.by_twofold == EndByTwofold::far) return kHiddenMinimum;
  if (result.on_saddle)
    return "no minimum: the gradient is 0 here, but the cost is lower beside it (a saddle or a maximum)";
  const int n = evaluator.parameters() - static_cast<int>(s.certificate.at_bound.size());
  const std::string held = held_message(s.certificate);
  switch (s.verdict) {
    case Verdict::converged:
      if (s.certificate.governed_by == kKink)
        return fmt::format("converged at a kink: no direction leads down from either side of it{}", held);
      return fmt::format("converged: first-order test ({}) holds in f64{}", s.certificate.governed_by, held);
    case Verdict::noise_floor:
      return fmt::format("converged to the noise floor: the gradient is below its rounding bound ({}){}",
                         s.certificate.governed_by, held);
    case Verdict::rank_deficient:
      return fmt::format(
          "converged on the {}-dimensional subspace that the data determine, of {} parameters{}",
          s.certificate.rank, n, held);
    default: break;
  }
  if (result.underflow) {
    const auto [what, advice] = extreme(result.x, sizes.least_column);
    return fmt::format(
        "{}: {} are no larger than {:.1e}, and their squares underflow: nothing can be certified. {} If y is "
        "0, so is the best curve.",
        name(s.termination), what, sizes.least, advice);
  }
  if (result.ran_off)
    return "no usable minimum: the cost hardly falls while parameters grow a thousandfold, so they probably "
           "go to infinity. Give other starting values (p0), or bounds.";
  if (result.limited_by_rounding) {
    return fmt::format(
        "as far as float64 can see: residuals are so close to the rounding of y that the optimum may be "
        "{:.2g} standard errors away. Parameters have all the digits that float64 can give them; their "
        "standard errors are doubtful. If all rows share leading digits of y, or of x, subtract them first",
        s.certificate.decrement_sigma);
  }
  if (result.noisy_column) {
    return fmt::format(
        "no further progress: derivatives by {} are rounding errors where the fit ended. It has no effect "
        "there, or terms of the model cancel. Nothing is certified; fix it, simplify the model, or write it "
        "so "
        "that nothing cancels",
        names.of(*result.noisy_column));
  }
  return fmt::format(
      "{}: parameters are the best found, cost and gradient verified in f64, first order not certified",
      name(s.termination));
}

}  // namespace

std::string FreeNames::of(std::size_t j) const {
  return all.empty() ? fmt::format("parameter {}", j + 1) : all[static_cast<std::size_t>(free[j])];
}

std::string message_of_end(MinimizerResult& end, DenseEvaluator& evaluator, const RowModel& rows,
                           const FreeNames& names) {
  RowSizes sizes;
  if (end.summary.termination == Termination::failure || end.underflow) sizes = evaluator.sizes(end.x);
  end.summary.evaluator = rows.kind();
  return message_of(end, evaluator, sizes, names);
}

}  // namespace nlsq::inline v0

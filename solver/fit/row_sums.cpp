// Implements fits from sums. solve_sums keeps no state between calls: it runs the minimizer from the start
// again, and answers from the sums that are known. If the minimizer needs a point without sums, the run ends,
// and that point is requested next. The minimizer decides by numbers alone, so each run makes the same steps
// as the one before, and the same as over rows in memory. A run costs no pass over rows.
#include "fit/row_sums.hpp"

#include "certificate/difference_errors.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "fit/fit_setup.hpp"
#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"
#include "support/all_finite.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t at(SumAt entry) { return static_cast<std::size_t>(entry); }
constexpr std::size_t kHead = at(SumAt::head);
// Rows of a block that are evaluated again, to learn the size of their terms.
constexpr std::size_t kRecheckRows = 1024;

// Is thrown if the minimizer needs a point without sums.
struct PointWanted {
  Vector point;
};
// Is thrown if JᵀJ has too few digits. A QR pass over the rows themselves would have enough digits.
struct RowsWanted {};

class SumsEvaluator final : public Evaluator {
 public:
  explicit SumsEvaluator(std::span<const SumsPass> passes) : passes_(passes), used_(passes.size(), false) {}

  int parameters() const override { return static_cast<int>(passes_[0].point.size()); }
  std::size_t residuals() const override {
    return static_cast<std::size_t>(passes_[0].sums[at(SumAt::rows)]);
  }
  bool has_f32() const override { return false; }
  // Every pass is expensive, so the minimizer must not make one that it can avoid.
  double row_cost() const override { return 1e12; }
  double pass_work(const PrecisionPlan&) const override { return 1e12 * static_cast<double>(residuals()); }

  void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) override {
    if (plan.gram == Gram::qr) throw RowsWanted();
    const std::span<const double> sums = sums_at(x);
    const std::size_t n = x.size();
    out.plan = plan;
    out.cost = sums[at(SumAt::cost)];
    out.finite = all_finite(sums);
    out.nonfinite_tiles = 0;
    out.gradient.assign(&sums[kHead], &sums[kHead] + n);
    out.normal.assign(n, n);
    const double* entry = &sums[kHead + 3 * n];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) out.normal(i, j) = out.normal(j, i) = *entry++;
    }
    double squares = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (out.normal(j, j) > 0) squares += sums[kHead + 2 * n + j] / out.normal(j, j);
    }
    out.derivative_error = std::sqrt(squares);
    out.triangle.assign(0, 0);
    out.nonfinite_of.clear();
  }
  double cost(std::span<const double> x, Format) override { return sums_at(x)[at(SumAt::cost)]; }
  void recheck_into(std::span<const double> x, std::size_t, Recheck& out) override {
    const std::span<const double> sums = sums_at(x);
    const std::size_t n = x.size();
    const auto share = [](double terms, double squares) {
      return squares > 0 ? terms / std::sqrt(squares) : 0.0;
    };
    out = {};
    out.rows = residuals();
    out.largest = sums[at(SumAt::disagreeing)] > 0 ? kInfinity : 0;
    out.discrepancy = std::sqrt(sums[at(SumAt::discrepancy)]);
    out.magnitude = std::sqrt(sums[at(SumAt::magnitude)]);
    out.cost_magnitude = share(sums[at(SumAt::cost_magnitude)], 2 * sums[at(SumAt::cost)]);
    out.underflow = sums[at(SumAt::underflowing)] > 0;
    const double* square = &sums[kHead + 3 * n];  // on the diagonal of JᵀJ
    for (std::size_t j = 0; j < n; square += n - j, ++j)
      out.column_magnitude.push_back(share(sums[kHead + n + j], *square));
  }
  double jacobian_error() const override {
    return passes_[0].sums[at(SumAt::derivative_error)] / static_cast<double>(residuals());
  }
  // Only formats below float64 need a probe, and these are switched off.
  Probe probe(std::span<const double>, const PrecisionPlan&) override {
    throw std::logic_error("sums are in float64");
  }
  double second_order_into(std::span<const double>, std::span<const double>, double, Vector&) override {
    return kNaN;
  }
  const KernelCounters& counters() const override { return counters_; }
  double counted_work() const override { return 0; }
  std::size_t bytes() const override { return 0; }

  std::span<const double> sums_at(std::span<const double> x) {
    for (std::size_t k = 0; k < passes_.size(); ++k) {
      if (!std::ranges::equal(passes_[k].point, x)) continue;
      used_[k] = true;
      return passes_[k].sums;
    }
    throw PointWanted{Vector(x.begin(), x.end())};
  }

  // Returns the first pass that the minimizer did not use, or nothing.
  std::optional<std::size_t> unused() const {
    const auto found = std::ranges::find(used_, false);
    if (found == used_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - used_.begin());
  }

 private:
  std::span<const SumsPass> passes_;
  std::vector<bool> used_;
  KernelCounters counters_;
};

void check_passes(std::span<const SumsPass> passes) {
  if (passes.empty()) throw ValidationError("sums: there are none; give those at the starting values");
  const double rows = passes[0].sums[at(SumAt::rows)];
  for (std::size_t k = 0; k < passes.size(); ++k) {
    const double here = passes[k].sums[at(SumAt::rows)];
    if (!(here >= 1) || here != std::floor(here) || !std::isfinite(here))
      throw DataError(
          fmt::format("sums of pass {}: {} is no number of rows; use what the sums of a block give, "
                      "or the sum of several",
                      k, here));
    if (here != rows)
      throw DataError(
          fmt::format("sums of pass {}: they are of {} rows, those of pass 0 of {}: add up the same "
                      "blocks at every point",
                      k, here, rows));
  }
}

std::string message_of_sums(const MinimizerResult& minimum) {
  const Summary& s = minimum.summary;
  const Certificate& c = s.certificate;
  if (s.termination == Termination::failure)
    return "residuals or derivatives are not finite at the starting values: start where the model is defined";
  if (!c.recheck_passed)
    return "in some block of rows the model differs from itself, evaluated again in float64: nothing is "
           "certified";
  switch (s.verdict) {
    case Verdict::converged:
      return fmt::format("converged: the first-order test ({}) holds for the sums, in f64", c.governed_by);
    case Verdict::noise_floor:
      return fmt::format("converged to the noise floor: the gradient is below its rounding bound ({})",
                         c.governed_by);
    case Verdict::rank_deficient:
      return fmt::format("converged on the {}-dimensional subspace that the data determine, of {} parameters",
                         c.rank, minimum.x.size() - c.at_bound.size());
    default:
      return fmt::format("{}: parameters are the best found, first order not certified", name(s.termination));
  }
}

// Returns the reason why the certificate must be taken back although the tests hold, or null if it is valid.
// The rules are those of a curve (certificate/hidden_minimum.hpp). A curve compares residuals with the terms
// of the model. Sums do not have these, so the norm of y stands for them; terms are up to twice as large. A
// curve also compares the largest sigma with the smallest. Sums do not have these either, so √(Σσ² Σ1/σ² /
// rows) stands for their ratio. It is at least as large as the ratio if one row has another sigma than all
// others, and √rows if all are alike.
const char* objection(const MinimizerResult& minimum, std::span<const double> sums,
                      std::span<const double> standard_errors) {
  const auto sum = [&](SumAt entry) { return sums[at(entry)]; };
  const auto are_rounding = [](double cost, double data) {
    return std::sqrt(2 * cost) <= 2 * kRoundingErrors * std::sqrt(data);
  };
  const Certificate& c = minimum.summary.certificate;
  const auto follows = [&] {
    const double cost = sum(SumAt::cost), data = sum(SumAt::data);
    return are_rounding(cost, data) || goes_through_all_rows(static_cast<std::size_t>(sum(SumAt::rows)),
                                                             c.rank, std::sqrt(2 * cost), std::sqrt(data));
  };
  if (hides_minimum(c, minimum.by_twofold, follows)) return kHiddenMinimum;
  const double spread = doubtful_spread(c, minimum.by_twofold, minimum.x, standard_errors);
  const double range = std::sqrt(sum(SumAt::variances)) * std::sqrt(sum(SumAt::weights) / sum(SumAt::rows));
  const bool outweighed = range > spread && !are_rounding(sum(SumAt::plain_cost), sum(SumAt::plain_data));
  return outweighed ? kOutweighed : nullptr;
}

LeastSquaresResult result_of(MinimizerResult minimum, std::span<const double> sums, const Limits& limits,
                             bool unit_sigma) {
  const auto rows = static_cast<std::size_t>(sums[at(SumAt::rows)]);
  LeastSquaresResult out;
  const std::size_t n = minimum.x.size();
  const Certificate& c = minimum.summary.certificate;
  minimum.summary.message = message_of_sums(minimum);
  minimum.summary.kernel = kernels().name;
  minimum.summary.evaluator = "sums";
  const double sigma = scatter(minimum.summary.final_cost, rows, n - c.at_bound.size(), unit_sigma);
  out.x = minimum.x;
  out.cost = minimum.summary.final_cost;
  out.covariance = Matrix(n, n, kNaN);
  out.standard_errors.assign(n, kNaN);
  const bool known = minimum.covariance.rows() == n && (unit_sigma || rows > n - c.at_bound.size());
  for (std::size_t i = 0; i < n && known; ++i) {
    for (std::size_t j = 0; j < n; ++j) out.covariance(i, j) = minimum.covariance(i, j) * sigma * sigma;
    out.standard_errors[i] = std::sqrt(out.covariance(i, i));
  }
  out.active_mask.assign(n, 0);
  for (std::size_t j = 0; j < limits.lower.size(); ++j)
    out.active_mask[j] = out.x[j] <= limits.lower[j] ? -1 : out.x[j] >= limits.upper[j] ? 1 : 0;
  if (const char* why = objection(minimum, sums, out.standard_errors)) withdraw(minimum.summary, why);
  out.summary = std::move(minimum.summary);
  return out;
}

// Returns the best point, for a JᵀJ with too few digits for a step or a certificate.
MinimizerResult without_certificate(std::span<const SumsPass> passes) {
  const auto cost = [](const SumsPass& pass) {
    const double c = pass.sums[at(SumAt::cost)];
    return std::isfinite(c) ? c : kInfinity;
  };
  const SumsPass& best = *std::ranges::min_element(passes, {}, cost);
  MinimizerResult out;
  out.x.assign(best.point.begin(), best.point.end());
  Summary& s = out.summary;
  s.initial_cost = passes[0].sums[at(SumAt::cost)];
  s.final_cost = s.certificate.cost = best.sums[at(SumAt::cost)];
  withdraw(s, {}, "too few digits");
  s.certificate.recheck_passed = true;
  s.certificate.decrement_sigma = s.certificate.condition = s.certificate.gradient_norm = kNaN;
  return out;
}

// Fills in the sums that show rows of heavy weight. The sums without weights may overflow where the others do
// not. They are limited to finite numbers, because sums that are not finite mean that the model is not
// finite.
void add_data(const Column& y, const Column& sigma, double plain_cost, std::span<double> out) {
  constexpr double kTiniest = 1e-140, kHugest = 1e140, kMost = 1e280;
  double data = 0, plain_data = 0, variances = 0, weights = 0;
  std::vector<double> errors;
  for_blocks(y, [&](std::size_t first, std::span<const double> values) {
    errors.assign(values.size(), 1.0);
    if (!sigma.empty()) sigma.read(first, errors.size(), errors.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double share = values[i] / errors[i], error = std::clamp(errors[i], kTiniest, kHugest);
      data += share * share;
      plain_data += values[i] * values[i];
      variances += error * error;
      weights += 1 / (error * error);
    }
  });
  out[at(SumAt::data)] = data;
  out[at(SumAt::plain_cost)] = plain_cost < kMost ? plain_cost : kMost;  // NaN where it overflowed, too
  out[at(SumAt::plain_data)] = std::min(plain_data, kMost);
  out[at(SumAt::variances)] = variances;
  out[at(SumAt::weights)] = weights;
}

constexpr const char* kTooFewDigits =
    "the columns of the Jacobian are so nearly dependent that sums of their products have too few digits: "
    "parameters are the best found, and nothing is certified. Fit the rows themselves, fix a parameter, or "
    "shift and scale x so that parameters are less alike";

}  // namespace

std::size_t sums_size(std::size_t parameters) {
  return kHead + 3 * parameters + parameters * (parameters + 1) / 2;
}

void add_up(DenseEvaluator& evaluator, DenseEvaluator& plain, const Column& y, const Column& sigma,
            std::span<const double> p, std::span<double> out) {
  const std::size_t n = p.size();
  const auto rows = static_cast<double>(evaluator.residuals());
  std::ranges::fill(out, kNaN);
  out[at(SumAt::rows)] = rows;
  Linearization here = evaluator.linearize(p, kF64Plan);
  if (!here.finite) return;
  const Recheck recheck = evaluator.recheck(p, kRecheckRows);
  Vector errors = refine_derivatives(evaluator, p, recheck.magnitude, here);
  errors.resize(n, 0.0);
  out[at(SumAt::cost)] = here.cost;
  out[at(SumAt::magnitude)] = recheck.magnitude * recheck.magnitude;
  out[at(SumAt::cost_magnitude)] = recheck.cost_magnitude * std::sqrt(2 * here.cost);
  out[at(SumAt::discrepancy)] = recheck.discrepancy * recheck.discrepancy;
  out[at(SumAt::disagreeing)] = recheck.largest <= 1e-9 ? 0 : 1;
  out[at(SumAt::underflowing)] = recheck.underflow ? 1 : 0;
  out[at(SumAt::derivative_error)] = evaluator.jacobian_error() * rows;
  add_data(y, sigma, sigma.empty() ? here.cost : plain.cost(p, Format::f64), out);
  double* entry = &out[kHead];
  entry = std::ranges::copy(here.gradient, entry).out;
  for (std::size_t j = 0; j < n; ++j) *entry++ = recheck.column_magnitude[j] * std::sqrt(here.normal(j, j));
  entry = std::ranges::copy(errors, entry).out;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) *entry++ = here.normal(i, j);
  }
}

SumsStep solve_sums(std::span<const SumsPass> passes, const SolverOptions& options, const Bounds& bounds,
                    bool unit_sigma) {
  check_passes(passes);
  check_options(options);
  options.refuse_team_and_journal("fits from sums");
  const std::span<const double> start = passes[0].point;
  std::vector<std::string> names;
  for (std::size_t j = 0; j < start.size(); ++j) names.push_back(fmt::format("x[{}]", j));
  if (!all_finite(start)) throw ValidationError("x0: a starting value is not finite");
  const Limits limits = limits_of(bounds, names);
  check_within(limits, names, {start.begin(), start.end()}, "x0");
  SolverOptions settled = options;
  settled.precision = PrecisionPolicy::all_f64();
  settled.geodesic = Geodesic::never;
  settled.variable_projection = VariableProjection::off;

  SumsEvaluator evaluator(passes);
  SumsStep step;
  step.rows = evaluator.residuals();
  check_counts(step.rows, start.size());
  DenseSystem system;
  Minimizer minimizer;
  MinimizerResult minimum;
  try {
    system.begin(evaluator, {.options = settled, .unit_sigma = unit_sigma, .box = limits.box()});
    minimizer.run(system, {.options = settled, .x0 = start, .begin = {}}, minimum);
    const std::span<const double> sums = evaluator.sums_at(minimum.x);
    step.done = result_of(std::move(minimum), sums, limits, unit_sigma);
  } catch (const PointWanted& wanted) {
    step.next = wanted.point;
  } catch (const RowsWanted&) {
    step.done = result_of(without_certificate(passes), passes[0].sums, limits, unit_sigma);
    step.done->summary.message = kTooFewDigits;
  }
  if (const auto k = evaluator.unused())
    throw ValidationError(
        fmt::format("pass {}: its point was not asked for: take the sums where the call before "
                    "this one said, and keep the options",
                    *k));
  return step;
}

}  // namespace nlsq::inline v0

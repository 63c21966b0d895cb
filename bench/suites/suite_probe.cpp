// Suite probe measures the cost of the precision probe and of the condition number, as a share of the fits
// that use them.
#include "curves/curve_data.hpp"
#include "suites/suites.hpp"

#include "dense/dense_evaluator.hpp"

#include <nlsq/curve_fit.hpp>

#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <string>

namespace bench {

namespace {

constexpr double kMostShare = 3;  // percent

double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the number of iterations with a probe: those below f64, each at a new point.
int probes_of(const nlsq::FitResult& fit) {
  return static_cast<int>(std::count_if(
      fit.summary.iterations.begin(), fit.summary.iterations.end(), [](const nlsq::IterationSummary& it) {
        return it.plan.residual == nlsq::Format::f32 && it.outcome != nlsq::StepOutcome::rejected &&
               it.outcome != nlsq::StepOutcome::invalid;
      }));
}

// Uses all rows from the first iteration on. With samples, there would be only one or two probes on so many
// rows.
void run_case(const CurveCase& c, std::size_t rows, const Settings& settings) {
  const Data data = curve_data(c, rows);
  nlsq::GraphRows model = residual_rows(c, {data.x[0], data.y}, c.truth);
  nlsq::DenseEvaluator evaluator(model);
  const nlsq::Formula formula = curve_formula(c);
  const nlsq::NamedValues start = named_start(c);
  nlsq::FitOptions options;
  options.threads = 1;
  options.sampling = nlsq::Sampling::never;
  nlsq::FitResult fit;
  const nlsq::PrecisionPlan plan{nlsq::Format::f32, nlsq::Gram::f32_wide};
  double probe_seconds = 0;
  const std::vector<Measured> measured =
      measure({{"fit",
                [&] {
                  fit = nlsq::curve_fit(formula, {data.x[0]}, data.y, start, options);
                  return fit.parameters;
                }},
               {"probe",
                [&] {
                  evaluator.linearize(c.truth, plan);  // in a fit, a preceding pass leaves the caches cold
                  const double begin = now(settings.clock);
                  const nlsq::Probe probe = evaluator.probe(c.truth, plan);
                  probe_seconds = now(settings.clock) - begin;
                  return probe.gradient_bias;
                },
                [&](Clock) { return probe_seconds; }}},
              settings);
  const int probes = probes_of(fit);
  const double share = 100 * (probes * measured[1].seconds + fit.summary.time.solve) / measured[0].seconds;
  Row row;
  row.suite = "probe";
  row.name = fmt::format("{}, {} rows", c.model, count_name(rows));
  row.ours_s = measured[0].seconds;
  row.note = fmt::format("{} probes of {:.3g} us, steps and condition {:.3g} us: {:.2f} % of the fit", probes,
                         1e6 * measured[1].seconds, 1e6 * fit.summary.time.solve, share);
  row.sound = fit.success();
  settings.report->add(row);
  if (!settings.quick)
    settings.report->goal(
        {"probe", row.name + ": probe and health", share, Asked::at_most, kMostShare, " %"});
}

}  // namespace

void run_probe(const Settings& settings) {
  settings.report->begin_suite(
      "probe",
      "one thread, all rows in every pass; goal: probe and health at most 3 % of the fit at 1e6 rows");
  for (const CurveCase& c : curve_cases()) run_case(c, settings.quick ? 100'000 : 1'000'000, settings);
}

}  // namespace bench

// Runs the census of problems and policies, and finds the causes of differences.
#include "census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace problems {

namespace {

constexpr std::size_t kOracleRows = 3000;  // the oracle skips larger problems; those are only compared with
                                           // f64

nlsq::NamedValues named(const nlsq::FitResult& fit) {
  nlsq::NamedValues p;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j)
    p.emplace_back(fit.parameter_names[j], fit.parameters[j]);
  return p;
}

// Continues in f64 from the result of `fit`.
nlsq::FitResult continued(const Problem& problem, const nlsq::FitResult& fit) {
  Problem from = problem;
  from.p0 = named(fit);
  nlsq::FitOptions options;
  options.solve_linear_start = false;
  return problems::fit(from, "f64", options);
}

bool no_lower(const Problem& problem, const nlsq::FitResult& fit) {
  const double least = fit.summary.final_cost * (1 - 1e-6);
  if (continued(problem, fit).summary.final_cost < least) return false;
  const Reference reference(problem);
  if (!reference.available() || problem.rows() > kOracleRows) return true;
  return !(reference.minimise(fit.parameters, 20).cost < least);
}

bool more_iterations_help(const Problem& problem, std::string_view policy, const nlsq::FitResult& fit,
                          const nlsq::FitResult& f64) {
  nlsq::FitOptions options;
  if (static_cast<int>(fit.summary.iterations.size()) < options.max_iterations) return false;
  options.max_iterations = 10000;
  const nlsq::FitResult longer = problems::fit(problem, policy, options);
  return longer.success() &&
         cause_of(problem, policy, longer, f64, compare(problem, longer, f64).outcome) != Cause::unexplained;
}

// Returns true if f64, continued from this result, is not certified and does not improve it. Then the path
// led there, and not the precision.
bool stuck_in_f64(const Problem& problem, const nlsq::FitResult& fit) {
  const nlsq::FitResult further = continued(problem, fit);
  return !further.success() && further.summary.final_cost >= fit.summary.final_cost * (1 - 1e-3);
}

double products_below_f64(const nlsq::KernelCounters& k) {
  return static_cast<double>(k.gram_flops_f32 + k.gram_flops_f32_wide + k.gram_flops_f16 + k.gram_flops_bf16);
}

double percent(double part, double rest) { return part + rest > 0 ? 100 * part / (part + rest) : 0; }

}  // namespace

std::vector<std::string> all_policies() {
  std::vector<std::string> out;
  std::vector<nlsq::PrecisionPolicy> seen{nlsq::PrecisionPolicy::all_f64()};
  for (const nlsq::PolicyAlias& alias : nlsq::policy_aliases()) {
    const nlsq::PrecisionPolicy policy = alias.make();
    if (std::find(seen.begin(), seen.end(), policy) != seen.end()) continue;
    seen.push_back(policy);
    out.emplace_back(alias.name);
  }
  for (const char* text : {"residual=f32,gram=f32,gate=off", "conservative,gate=off", "aggressive,gate=off"})
    out.emplace_back(text);
  return out;
}

const char* name(Cause cause) {
  switch (cause) {
    case Cause::none: return "none";
    case Cause::other_minimum: return "another local minimum";
    case Cause::iterations: return "iteration limit";
    case Cause::stuck: return "f64 gets no further from there, either";
    case Cause::lower: return "lower, not certified";
    case Cause::unexplained: return "UNEXPLAINED";
  }
  return "?";
}

Cause cause_of(const Problem& problem, std::string_view policy, const nlsq::FitResult& fit,
               const nlsq::FitResult& f64, Outcome outcome) {
  switch (outcome) {
    case Outcome::worse_minimum: return no_lower(problem, fit) ? Cause::other_minimum : Cause::unexplained;
    case Outcome::lower: return Cause::lower;
    case Outcome::lost:
      if (more_iterations_help(problem, policy, fit, f64)) return Cause::iterations;
      return stuck_in_f64(problem, fit) ? Cause::stuck : Cause::unexplained;
    default: return Cause::none;
  }
}

Census::Census(std::vector<std::string> policies, nlsq::FitOptions options) : options_(std::move(options)) {
  for (std::string& policy : policies) {
    tallies.emplace_back();
    tallies.back().policy = std::move(policy);
  }
  f64.policy = "f64";
}

void Census::judge(const Problem& once, const nlsq::FitResult& fit, double copies, Tally& tally) {
  if (std::string wrong = unsound_report(fit); !wrong.empty()) {
    ++tally.unsound;
    findings.push_back({once.name, tally.policy, std::move(wrong), Cause::unexplained});
  }
  const Reference reference(once);
  if (!reference.available() || once.rows() > kOracleRows) return;
  if (std::string wrong = false_certificate(reference, fit, copies); !wrong.empty()) {
    ++tally.false_certificates;
    findings.push_back({once.name, tally.policy, "false certificate: " + wrong, Cause::unexplained});
  }
}

void Census::run(const Problem& problem) { run(problem, problem); }
void Census::run_repeated(const Problem& once, std::size_t rows) { run(repeated(once, rows), once); }

void Census::run(const Problem& problem, const Problem& once) {
  const double copies = static_cast<double>(problem.rows()) / static_cast<double>(once.rows());
  const nlsq::FitResult all = fit(problem, "f64", options_);
  judge(once, all, copies, f64);
  ++problems;
  ill_conditioned += all.summary.certificate.condition > 1e8;
  large += problem.rows() >= 100000;
  certified += all.success();
  for (Tally& t : tallies) {
    const nlsq::FitResult r = fit(problem, t.policy, options_);
    judge(once, r, copies, t);
    const Comparison c = compare(problem, r, all);
    const Cause cause = cause_of(problem, t.policy, r, all, c.outcome);
    const nlsq::KernelCounters& k = r.summary.precision.counters;
    ++t.runs;
    t.certified += r.success();
    t.renamed += c.renamed;
    ++t.outcomes[static_cast<std::size_t>(c.outcome)];
    ++t.causes[static_cast<std::size_t>(cause)];
    t.rows_low += static_cast<double>(k.rows_f32);
    t.rows_f64 += static_cast<double>(k.rows_f64);
    t.products_low += products_below_f64(k);
    t.products_f64 += static_cast<double>(k.gram_flops_f64);
    t.work += r.summary.counted_work;
    t.work_f64 += all.summary.counted_work;
    t.worst_work = std::max(t.worst_work, r.summary.counted_work / all.summary.counted_work);
    if (cause == Cause::none) continue;
    findings.push_back({once.name, t.policy,
                        fmt::format("{}: {} {:.9g}, f64 {} {:.9g}", name(c.outcome), name(r.summary.verdict),
                                    r.summary.final_cost, name(all.summary.verdict), all.summary.final_cost),
                        cause});
  }
}

std::string table(const Census& census) {
  std::string out = fmt::format("{:<31} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7} {:>9} {:>10} {:>9}\n",
                                "policy", "same", "better", "worse", "lower", "lost", "both", "silent",
                                "cert.", "rows", "products", "work");
  out += fmt::format("{:<31} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7} {:>9} {:>10} {:>9}\n", "", "",
                     "", "", "", "", "failed", "wrong", "", "below f64", "below f64", "of f64's");
  for (const Tally& t : census.tallies) {
    out += fmt::format(
        "{:<31} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7} {:>7.1f} % {:>8.1f} % {:>9.3f}\n", t.policy,
        t.count(Outcome::same), t.count(Outcome::better), t.count(Outcome::worse_minimum),
        t.count(Outcome::lower), t.count(Outcome::lost), t.count(Outcome::both_failed), t.silent_wrong(),
        t.certified, percent(t.rows_low, t.rows_f64), percent(t.products_low, t.products_f64),
        t.work / t.work_f64);
  }
  return out;
}

std::string shares(const Census& census) {
  const double all = std::max(1, census.problems);
  return fmt::format(
      "{} problems: condition above 1e8 {:.1f} %, 10^5 rows and more {:.1f} %, certified in f64 {:.1f} %\n",
      census.problems, 100 * census.ill_conditioned / all, 100 * census.large / all,
      100 * census.certified / all);
}

}  // namespace problems

// Runs the adversarial set under every policy. Each case must end as the all-f64 run does, with a true
// certificate or an honest failure, and its trace must contain the events that it was made to provoke.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "adversarial.hpp"
#include "comparison.hpp"
#include "naive_fit.hpp"

namespace {

using problems::Expect;
using problems::Outcome;
using problems::Problem;

// These are all starting formats. All except `auto` have no entry gate, so that small cases cannot stay in
// f64.
constexpr const char* kPolicies[] = {
    "auto",       "f32",       "residual=f32,gram=f32,gate=off", "bf16", "aggressive,gate=off",
    "always_f16", "always_f32"};
constexpr std::size_t kOracleRows = 100000;  // with more rows, only the comparison with f64 is made

struct Tally {
  int cases = 0, runs = 0, same = 0, better = 0, both_failed = 0, worse = 0, lost = 0, false_certificates = 0;

  void add(Outcome outcome) {
    ++runs;
    same += outcome == Outcome::same;
    better += outcome == Outcome::better;
    both_failed += outcome == Outcome::both_failed;
    worse += outcome == Outcome::worse_minimum;
    lost += outcome == Outcome::lost;
  }
};

void print(const std::map<int, Tally>& tallies) {
  fmt::print("\n{:>2} {:<18} {:>5} {:>5} {:>5} {:>6} {:>11} {:>5} {:>5} {:>17}\n", "", "attack", "cases",
             "runs", "same", "better", "both failed", "worse", "lost", "false certificates");
  Tally all;
  for (const auto& [generator, t] : tallies) {
    fmt::print("{:>2} {:<18} {:>5} {:>5} {:>5} {:>6} {:>11} {:>5} {:>5} {:>17}\n", generator,
               problems::attack(generator), t.cases, t.runs, t.same, t.better, t.both_failed, t.worse, t.lost,
               t.false_certificates);
    all.cases += t.cases, all.runs += t.runs, all.same += t.same, all.better += t.better,
        all.both_failed += t.both_failed;
    all.worse += t.worse, all.lost += t.lost, all.false_certificates += t.false_certificates;
  }
  fmt::print("   {:<18} {:>5} {:>5} {:>5} {:>6} {:>11} {:>5} {:>5} {:>17}\n", "all", all.cases, all.runs,
             all.same, all.better, all.both_failed, all.worse, all.lost, all.false_certificates);
}

std::string events_of(const nlsq::FitResult& fit) {
  std::string out;
  for (const nlsq::IterationSummary& it : fit.summary.iterations) {
    if (it.event != nlsq::Event::none) out += std::string(out.empty() ? "" : " ") + name(it.event);
  }
  return out;
}

bool in_f32_first(const nlsq::FitResult& fit) { return fit.summary.precision.counters.rows_f32 > 0; }

// Checks what must hold for every run. `copies` is that of false_certificate.
void check_sound(const problems::Reference& reference, const nlsq::FitResult& fit, double copies,
                 Tally& tally, bool by_oracle) {
  CHECK(problems::unsound_report(fit) == "");
  if (!by_oracle) return;
  const std::string wrong = problems::false_certificate(reference, fit, copies);
  CHECK(wrong == "");
  tally.false_certificates += !wrong.empty();
}

void check_expected(const Problem& c, const nlsq::FitResult& f64) {
  using nlsq::Verdict;
  const Verdict verdict = f64.summary.verdict;
  if (c.expect == Expect::certified)
    CHECK((verdict == Verdict::converged || verdict == Verdict::noise_floor));
  if (c.expect == Expect::rank_deficient) {
    CHECK(verdict == Verdict::rank_deficient);
    bool undetermined = false;
    for (const double error : f64.standard_errors) undetermined = undetermined || std::isnan(error);
    CHECK(undetermined);
  }
}

void check_events(const Problem& c, const nlsq::FitResult& fit) {
  if (c.double_only) CHECK(!in_f32_first(fit));  // derivatives by differences are never computed in f32
  if (!in_f32_first(fit)) return;
  CAPTURE(events_of(fit));
  // A policy with a ceiling stays in its format while steps are possible, and J of 16 bits takes other paths.
  const auto policy = nlsq::PrecisionPolicy::parse(fit.summary.precision.policy);
  const bool free = policy.ceiling == nlsq::PrecisionPolicy{}.ceiling && policy.jacobian >= nlsq::Format::f32;
  if (!c.events.empty() && free) {
    CHECK(std::any_of(c.events.begin(), c.events.end(),
                      [&](nlsq::Event e) { return problems::has_event(fit, e); }));
  }
  // J of 16 bits may be given up, but the rows must stay in the low format.
  const std::string events = events_of(fit);
  if (c.must_stay_low) CHECK((events.ends_with("finishing") && events.find("noise") == std::string::npos));
}

void check_policy(const Problem& c, const problems::Reference& reference, const nlsq::FitResult& f64,
                  const char* policy, double copies, Tally& tally) {
  CAPTURE(policy);
  const nlsq::FitResult fit = problems::fit(c, policy);
  const problems::Comparison compared = compare(c, fit, f64);
  tally.add(compared.outcome);
  const auto m = static_cast<double>(c.rows());
  const nlsq::KernelCounters& k = fit.summary.precision.counters;
  fmt::print("{:>2} {:<50} {:<30} {:<14} {:<13} {:8.1e} {:8.1e} {:6.1f} {:6.1f}  {}\n", c.generator, c.name,
             policy, name(fit.summary.verdict), name(compared.outcome), compared.in_errors, compared.relative,
             static_cast<double>(k.rows_f32) / m, static_cast<double>(k.rows_f64) / m, events_of(fit));
  check_sound(reference, fit, copies, tally, reference.available());
  // A model that explains a millionth of a millionth of y is at the edge of what is refused as useless.
  const bool refused =
      f64.r_squared < 1e-12 && fit.summary.message.find("explains nothing") != std::string::npos;
  CHECK((compared.outcome != Outcome::lost || refused));
  CHECK(compared.outcome != Outcome::worse_minimum);
  // The same cost at other parameters is the same minimum only if terms can be exchanged, so this is a
  // warning.
  if (compared.renamed) WARN_MESSAGE(false, c.name << ": the same cost at other parameters");
  check_events(c, fit);
}

void print_header() {
  fmt::print("{:>2} {:<50} {:<30} {:<14} {:<13} {:>8} {:>8} {:>6} {:>6}  {}\n", "", "case", "policy",
             "verdict", "beside f64", "se", "relative", "f32", "f64", "events");
}

}  // namespace

TEST_CASE("every adversarial case ends as in f64, under every policy, and no certificate is false") {
  std::map<int, Tally> tallies;
  std::vector<std::string> uncertified;
  print_header();
  const std::vector<Problem> cases = problems::adversarial();
  for (const Problem& c : cases) {
    CAPTURE(c.name);
    Tally& tally = tallies[c.generator];
    ++tally.cases;
    const problems::Reference reference(c);
    const nlsq::FitResult f64 = problems::fit(c, "f64");
    check_sound(reference, f64, 1, tally, reference.available() && c.rows() <= kOracleRows);
    check_expected(c, f64);
    CHECK(!in_f32_first(f64));
    if (!f64.success())
      uncertified.push_back(
          fmt::format("{:<50} {:<8} {}", c.name, name(f64.summary.verdict), f64.summary.message));
    for (const char* policy : kPolicies) check_policy(c, reference, f64, policy, 1, tally);
  }
  print(tallies);
  fmt::print("\nwithout a certificate in f64, {} of {}:\n", uncertified.size(), cases.size());
  for (const std::string& line : uncertified) fmt::print("  {}\n", line);
  CHECK(cases.size() >= 150);
  CHECK(tallies.size() == problems::kGenerators);
  CHECK(uncertified.size() * 20 <= cases.size());
}

TEST_CASE("f32 without a scheduler is silently wrong on many adversarial cases") {
  std::map<problems::NaiveOutcome, int> count;
  int compared = 0;
  for (const Problem& c : problems::adversarial()) {
    const problems::Reference reference(c);
    if (!reference.available() || c.rows() > kOracleRows) continue;
    const nlsq::FitResult f64 = problems::fit(c, "f64");
    if (!f64.success()) continue;
    const auto outcome = judge(c, problems::naive_f32(c), f64);
    ++count[outcome];
    ++compared;
    if (outcome == problems::NaiveOutcome::silent_wrong) fmt::print("naive f32 silently wrong: {}\n", c.name);
  }
  using problems::NaiveOutcome;
  fmt::print("naive f32 on {} cases: {} right, {} silently wrong, {} not finite, {} gave up\n", compared,
             count[NaiveOutcome::right], count[NaiveOutcome::silent_wrong], count[NaiveOutcome::not_finite],
             count[NaiveOutcome::gave_up]);
  CHECK(count[NaiveOutcome::silent_wrong] >= 10);  // otherwise the set would be harmless
  CHECK(count[NaiveOutcome::not_finite] >= 1);
}

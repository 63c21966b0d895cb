// Suite naive compares the answers in low precision without a scheduler with those of nlsq. It measures no
// times.
#include "suites/suites.hpp"

#include "adversarial.hpp"
#include "census.hpp"
#include "naive_fit.hpp"

#include <fmt/format.h>

#include <map>

namespace bench {

namespace {

using problems::NaiveOutcome;

// Converts a fit of nlsq to the same form: it claims convergence, or reports that it did not converge.
problems::NaiveFit as_claimed(const nlsq::FitResult& fit) {
  problems::NaiveFit out;
  out.p = fit.parameters;
  out.converged = fit.success();
  out.finite = fit.summary.termination != nlsq::Termination::failure;
  return out;
}

struct Contestant {
  const char* name;
  problems::NaiveFit (*run)(const problems::Problem& problem);
};

constexpr Contestant kContestants[] = {
    {"f32 throughout, believed", problems::naive_f32},
    {"bf16 stored, f32 sums, believed", problems::naive_bf16},
    {"nlsq, policy f32", [](const problems::Problem& p) { return as_claimed(problems::fit(p, "f32")); }},
    {"nlsq, policy bf16", [](const problems::Problem& p) { return as_claimed(problems::fit(p, "bf16")); }},
    {"nlsq, policy always_f16",
     [](const problems::Problem& p) { return as_claimed(problems::fit(p, "always_f16")); }},
};

using Counts = std::map<NaiveOutcome, int>;

void print(const char* corpus, int cases, const std::vector<Counts>& counts, const Settings& settings) {
  settings.report->text(fmt::format("\n{}, {} cases that f64 certifies\n{:<34} {:>6} {:>13} {:>11} {:>8}",
                                    corpus, cases, "", "right", "silent wrong", "not finite", "gave up"));
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto of = [&](NaiveOutcome o) { return counts[k].contains(o) ? counts[k].at(o) : 0; };
    settings.report->text(fmt::format("{:<34} {:>6} {:>13} {:>11} {:>8}", kContestants[k].name,
                                      of(NaiveOutcome::right), of(NaiveOutcome::silent_wrong),
                                      of(NaiveOutcome::not_finite), of(NaiveOutcome::gave_up)));
    if (k >= 2) {
      settings.report->goal({"naive", fmt::format("{}: {}, silent wrong", corpus, kContestants[k].name),
                             static_cast<double>(of(NaiveOutcome::silent_wrong)), Asked::at_most, 0, ""});
    }
  }
}

}  // namespace

void run_naive(const Settings& settings) {
  constexpr std::size_t kMostRows = 100000;
  settings.report->begin_suite("naive", "answers of solvers that trust their digits, beside ours; no times");
  std::vector<Counts> made(std::size(kContestants)), classics(std::size(kContestants));
  int made_cases = 0, classic_cases = 0, wrong = 0;
  for (const problems::Problem& c : problems::adversarial()) {
    if (!problems::Reference(c).available() || c.rows() > kMostRows) continue;
    const nlsq::FitResult f64 = problems::fit(c, "f64");
    if (!f64.success()) continue;
    const bool classic = c.generator == 16;
    ++(classic ? classic_cases : made_cases);
    for (std::size_t k = 0; k < std::size(kContestants); ++k) {
      const NaiveOutcome outcome = judge(c, kContestants[k].run(c), f64);
      ++(classic ? classics : made)[k][outcome];
      wrong += k >= 2 && outcome == NaiveOutcome::silent_wrong;
    }
  }
  print("made to break low precision", made_cases, made, settings);
  print("NIST, Osborne, Moré-Garbow-Hillstrom", classic_cases, classics, settings);
  Row row;
  row.suite = "naive";
  row.name = "all";
  row.note = fmt::format("{} silent wrong answers of ours", wrong);
  row.sound = wrong == 0;
  settings.report->add(row);
}

}  // namespace bench

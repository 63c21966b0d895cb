// Suite adversarial counts the answers of each policy on the adversarial set and on fits that suit low
// precision. It measures no times.
#include "suites/suites.hpp"

#include "adversarial.hpp"
#include "benign.hpp"
#include "census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bench {

namespace {

using problems::Census, problems::Outcome, problems::Tally;

constexpr double kMostPasses = 60;  // passes of the all-f64 run; longer cases are not repeated to many rows

// Reports every finding that another run does not explain, and the counts as goals.
void report_census(const Census& census, const std::string& corpus, const Settings& settings) {
  settings.report->text(fmt::format("\n{}: {}\n{}", corpus, shares(census), table(census)));
  for (const problems::Finding& f : census.findings) {
    settings.report->text(fmt::format("  {:<40} {:<30} {}: {}", f.problem, f.policy, f.what, name(f.cause)));
  }
  double wrong = census.f64.silent_wrong(), unexplained = 0, lost = 0;
  for (const Tally& t : census.tallies) {
    wrong += t.silent_wrong();
    unexplained += t.count(problems::Cause::unexplained);
    if (t.policy == "auto") lost = t.count(Outcome::lost) + t.count(Outcome::worse_minimum);
  }
  settings.report->goal({"adversarial", corpus + ": silent wrong answers", wrong, Asked::at_most, 0, ""});
  settings.report->goal(
      {"adversarial", corpus + ": auto certified less, or higher, than f64", lost, Asked::at_most, 0, ""});
  settings.report->goal(
      {"adversarial", corpus + ": differences unexplained", unexplained, Asked::at_most, 0, ""});
  Row row;
  row.suite = "adversarial";
  row.name = corpus;
  row.note = fmt::format("{} problems, {} policies, {} silent wrong answers", census.problems,
                         census.tallies.size(), wrong);
  row.sound = wrong == 0 && lost == 0;
  settings.report->add(row);
}

bool short_way(const problems::Problem& p) {
  const nlsq::FitResult f64 = problems::fit(p, "f64");
  return static_cast<double>(f64.summary.precision.counters.rows_f64) <=
         kMostPasses * static_cast<double>(p.rows());
}

const Tally& under(const Census& census, const char* policy) {
  return *std::find_if(census.tallies.begin(), census.tallies.end(),
                       [policy](const Tally& t) { return t.policy == policy; });
}

// Runs cases where low precision can help. Reports the share of rows evaluated below f64, on all rows and
// with samples.
void run_benign(const Settings& settings) {
  const std::size_t rows = settings.quick ? std::size_t{1} << 16 : std::size_t{1} << 19;
  for (const nlsq::Sampling sampling : {nlsq::Sampling::never, nlsq::Sampling::automatic}) {
    nlsq::FitOptions options;
    options.threads = 1;
    options.sampling = sampling;
    Census census({"auto", "f32", "bf16", "aggressive", "always_f32", "always_f16"}, options);
    for (const problems::Problem& p : problems::benign(rows)) census.run(p);
    const bool sampled = sampling == nlsq::Sampling::automatic;
    const std::string corpus = fmt::format("benign, {} rows{}", rows, sampled ? ", sampled first" : "");
    report_census(census, corpus, settings);
    if (sampled) continue;
    const Tally& t = under(census, "auto");
    settings.report->goal({"adversarial", corpus + ": rows below f64, auto",
                           100 * t.rows_low / (t.rows_low + t.rows_f64), Asked::at_least, 80, " %"});
  }
}

}  // namespace

void run_adversarial(const Settings& settings) {
  settings.report->begin_suite("adversarial", "answers beside the all-f64 run's, and counted work; no times");
  const std::vector<problems::Problem> cases = problems::adversarial();
  Census alone(problems::all_policies());
  for (const problems::Problem& c : cases) alone.run(c);
  report_census(alone, "adversarial", settings);
  if (!settings.quick) {
    nlsq::FitOptions options;
    options.threads = 1;
    Census many({"auto", "auto_bf16", "conservative", "aggressive", "always_f32", "always_f16"}, options);
    for (const problems::Problem& c : cases) {
      if (c.repeatable && short_way(c)) many.run_repeated(c, std::size_t{1} << 18);
    }
    report_census(many, "adversarial, 2^18 rows", settings);
    const Tally& t = under(many, "auto");
    settings.report->goal({"adversarial", "adversarial, 2^18 rows: counted work of auto over all-f64",
                           t.work / t.work_f64, Asked::at_most, 1.25, "x"});
  }
  run_benign(settings);
}

}  // namespace bench

// Suite random counts the answers of every policy on problems drawn at random. It measures no times.
#include "suites/suites.hpp"

#include "census.hpp"
#include "random_problems.hpp"

#include <fmt/format.h>

namespace bench {

void run_random(const Settings& settings) {
  constexpr std::uint64_t kSeed = 1, kTold = 1000;
  const std::uint64_t count = settings.quick ? 200 : 10'000;
  settings.report->begin_suite("random", fmt::format("{} problems beside the all-f64 run; no times", count));
  nlsq::FitOptions options;
  options.threads = 1;  // small fits gain nothing from more threads and would slow other processes
  problems::Census census(problems::all_policies(), options);
  for (std::uint64_t i = 0; i < count; ++i) {
    census.run(problems::random_problem(kSeed, i));
    if ((i + 1) % kTold == 0 && i + 1 < count) settings.report->text(fmt::format("{} ...", i + 1));
  }
  settings.report->text(fmt::format("\n{}{}", shares(census), table(census)));
  double wrong = census.f64.silent_wrong(), unexplained = 0, lost = 0;
  for (const problems::Tally& t : census.tallies) {
    wrong += t.silent_wrong();
    unexplained += t.count(problems::Cause::unexplained);
    if (t.policy == "auto")
      lost = t.count(problems::Outcome::lost) + t.count(problems::Outcome::worse_minimum);
  }
  settings.report->text("every run that ended worse, lower without a certificate, or lost one, and why:");
  for (const problems::Finding& f : census.findings) {
    settings.report->text(fmt::format("  {:<30} {:<30} {}: {}", f.problem, f.policy, f.what, name(f.cause)));
  }
  const auto share = [&](int part) { return 100.0 * part / census.problems; };
  settings.report->goal(
      {"random", "condition above 1e8", share(census.ill_conditioned), Asked::at_least, 30, " %"});
  settings.report->goal({"random", "10^5 rows and more", share(census.large), Asked::at_least, 10, " %"});
  settings.report->goal({"random", "silent wrong answers", wrong, Asked::at_most, 0, ""});
  settings.report->goal({"random", "auto certified less, or higher, than f64", lost, Asked::at_most, 0, ""});
  settings.report->goal({"random", "differences unexplained", unexplained, Asked::at_most, 0, ""});
  Row row;
  row.suite = "random";
  row.name = fmt::format("{} problems", count);
  row.note = fmt::format("{} policies, {} silent wrong answers", census.tallies.size(), wrong);
  row.sound = wrong == 0 && lost == 0;
  settings.report->add(row);
}

}  // namespace bench

// Measures the worth of each rule of the scheduler. It runs the corpora once with all rules and once without
// each rule. The differences are one row of a table.
#include "adversarial.hpp"
#include "benign.hpp"
#include "census.hpp"
#include "random_problems.hpp"
#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using problems::Outcome, problems::Problem;

constexpr std::size_t kOracleRows = 3000;
constexpr double kMostWork =
    4e8;  // most counted work of the f64 run; costlier fits are left out, except for samples

struct Run {
  std::string verdict, outcome, digest;  // digest: all bits of parameters and cost
  bool wrong = false;                    // a false certificate or an unsound report
  double work = 0;
  bool worse() const { return outcome == name(Outcome::lost) || outcome == name(Outcome::worse_minimum); }
};
using Runs = std::map<std::string, Run>;  // by corpus, policy and problem

std::string digest(const nlsq::FitResult& fit) {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  const auto add = [&hash](double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    for (int k = 0; k < 8; ++k, bits >>= 8) hash = (hash ^ (bits & 255)) * 1099511628211ull;
  };
  for (const double p : fit.parameters) add(p);
  add(fit.summary.final_cost);
  return fmt::format("{:016x}", hash);
}

class Recorder {
 public:
  explicit Recorder(const Runs* known) : known_(known) {}

  void add(const std::string& corpus, const Problem& problem, const Problem& once,
           const std::vector<const char*>& policies, const nlsq::FitOptions& options = {}) {
    if (known_ != nullptr && !known_->contains(fmt::format("{}|{}|{}", corpus, policies[0], once.name)))
      return;
    const nlsq::FitResult f64 = problems::fit(problem, "f64", options);
    if (known_ == nullptr && corpus != "sampled" && f64.summary.counted_work > kMostWork) return;
    const double copies = static_cast<double>(problem.rows()) / static_cast<double>(once.rows());
    for (const char* policy : policies) {
      const nlsq::FitResult fit = problems::fit(problem, policy, options);
      Run run;
      run.verdict = name(fit.summary.verdict);
      run.outcome = name(compare(problem, fit, f64).outcome);
      run.digest = digest(fit);
      run.work = fit.summary.counted_work;
      std::string key = fmt::format("{}|{}|{}", corpus, policy, once.name);
      const Run* before = known_ == nullptr || !known_->contains(key) ? nullptr : &known_->at(key);
      run.wrong = before != nullptr && before->digest == run.digest && before->verdict == run.verdict
                      ? before->wrong
                      : is_wrong(once, fit, copies);
      runs.emplace(std::move(key), std::move(run));
    }
  }

  Runs runs;

 private:
  static bool is_wrong(const Problem& once, const nlsq::FitResult& fit, double copies) {
    if (!problems::unsound_report(fit).empty()) return true;
    const problems::Reference reference(once);
    return reference.available() && once.rows() <= kOracleRows &&
           !problems::false_certificate(reference, fit, copies).empty();
  }

  const Runs* known_;
};

// Starts a fit at its own end and stops it soon, so that no point on the way is better than the start.
void run_stopped(Recorder& to, Problem problem, const std::vector<const char*>& policies) {
  const nlsq::FitResult end = problems::fit(problem, "f64");
  problem.p0.clear();
  for (std::size_t j = 0; j < end.parameters.size(); ++j)
    problem.p0.emplace_back(end.parameter_names[j], end.parameters[j]);
  const std::string name = problem.name;
  for (const int most : {1, 3}) {
    nlsq::FitOptions options;
    options.max_iterations = most;
    problem.name = fmt::format("{}, {} iterations", name, most);
    to.add("stopped", problem, problem, policies, options);
  }
}

// Starts a fit close to its end, with only the last parameter farther away.
void run_close(Recorder& to, Problem problem) {
  const nlsq::FitResult end = problems::fit(problem, "f64");
  problem.p0.clear();
  for (std::size_t j = 0; j < end.parameters.size(); ++j) {
    const double off = j + 1 == end.parameters.size() ? 1e-5 : 1e-6;
    problem.p0.emplace_back(end.parameter_names[j], end.parameters[j] * (1 + off));
  }
  nlsq::FitOptions options;
  options.solve_linear_start = false;
  to.add("close", problem, problem, {"f64", "auto"}, options);
}

void run_corpora(Recorder& to) {
  const std::vector<const char*> low{"auto",
                                     "f32",
                                     "residual=f32,gram=f32,gate=off",
                                     "bf16",
                                     "always_f32",
                                     "always_f16",
                                     "conservative,gate=off",
                                     "aggressive,gate=off",
                                     "residual=f64,jacobian=bf16,gate=off"};
  const std::vector<const char*> gated{"auto", "aggressive"};
  for (const Problem& p : problems::adversarial()) {
    to.add("adversarial", p, p, p.rows() < 100000 ? low : gated);
    // Problems with expected events are repeated, so that they pass the entry gate and are sampled.
    if (p.repeatable && p.generator != 16 && !p.events.empty())
      to.add("repeated", problems::repeated(p, std::size_t{1} << 17), p, gated);
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Problem p = problems::random_problem(1, i);
    to.add("random", p, p, p.rows() < 100000 ? low : gated);
  }
  nlsq::FitOptions all_rows;
  all_rows.sampling = nlsq::Sampling::never;
  for (const Problem& p : problems::benign(std::size_t{1} << 16)) to.add("benign", p, p, gated, all_rows);
  for (const Problem& p : problems::benign(std::size_t{1} << 20)) {
    if (p.p0.size() > 5) continue;
    to.add("sampled", p, p, {"auto"});
    run_stopped(to, p, {"auto"});
  }
  for (const Problem& p : problems::adversarial(14)) {
    if (p.predictors.size() == 2) run_close(to, p);
  }
  for (const int generator : {4, 11}) {  // with a user rule that lowers precision too often
    for (const Problem& p : problems::adversarial(generator))
      to.add("rules", p, p, {"f32; condition < 1e12 -> jacobian=bf16"});
  }
  for (const int generator : {1, 4}) {
    for (const Problem& p : problems::adversarial(generator)) run_stopped(to, p, low);
  }
  for (const int peaks : {6, 9, 18}) {
    const Problem p = problems::gaussian_peaks(peaks, 3000, static_cast<std::uint64_t>(peaks) + 40);
    to.add("peaks", p, p,
           {"f32", "bf16", "always_f16", "aggressive,gate=off", "residual=f64,jacobian=bf16,gate=off"});
  }
  const Problem offset = problems::gaussian_peaks(32, 10000, 1, 1e5);
  to.add("peaks", offset, offset, {"auto", "f32", "bf16", "aggressive"});
}

// Prints these columns: the rule, how many runs changed, how many lost a certificate or ended in a worse
// minimum, how many answers were silently wrong, and the counted work of the changed runs (in total, the
// geometric mean and the most).
void print_row(const std::string& rule, const Runs& before, const Runs& after) {
  int changed = 0, worse = 0, mended = 0, wrong = 0;
  double work = 0, work_before = 0, logarithms = 0, dearest = 1;
  std::string example;
  for (const auto& [key, b] : before) {
    const Run& a = after.at(key);
    if (a.digest == b.digest && a.verdict == b.verdict && a.work == b.work) continue;
    ++changed;
    worse += a.worse() && !b.worse();
    mended += b.worse() && !a.worse();
    wrong += a.wrong && !b.wrong;
    work += a.work;
    work_before += b.work;
    logarithms += std::log(a.work / b.work);
    dearest = std::max(dearest, a.work / b.work);
    if (example.empty() && ((a.worse() && !b.worse()) || (a.wrong && !b.wrong))) example = key;
  }
  fmt::print("| {} | {} of {} | +{} −{} | +{} | {} |{}\n", rule, changed, before.size(), worse, mended, wrong,
             changed > 0 ? fmt::format("{:.2f} | {:.2f} | {:.1f}", work / work_before,
                                       std::exp(logarithms / changed), dearest)
                         : "– | – | –",
             example.empty() ? "" : " <!-- " + example + " -->");
  std::fflush(stdout);
}

}  // namespace

// Usage: ablation [TEXT…]. Prints the rows of all rules, or of those whose name contains one of the texts.
int main(int argc, char** argv) {
  try {
    const auto asked_for = [&](const std::string& name) {
      return argc < 2 || std::any_of(argv + 1, argv + argc,
                                     [&](const char* text) { return name.find(text) != std::string::npos; });
    };
    if (std::none_of(kNamedRules.begin(), kNamedRules.end(),
                     [&](const NamedRule& r) { return asked_for(r.name); })) {
      throw std::runtime_error("no rule has such a name");
    }
    Recorder all_rules(nullptr);
    run_corpora(all_rules);
    for (const NamedRule& r : kNamedRules) {
      if (!asked_for(r.name)) continue;
      const nlsq::WithoutRule without(r.rule);
      Recorder recorder(&all_rules.runs);
      run_corpora(recorder);
      print_row(r.name, all_rules.runs, recorder.runs);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ablation: {}\n", error.what());
    return 1;
  }
}

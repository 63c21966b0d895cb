// Fits many problems under many policies. Compares each run with the f64 run and with the oracle, and finds
// the cause of each difference.
#pragma once

#include "comparison.hpp"
#include "problem.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace problems {

// Returns every named policy, and each with the entry gate off, so that small problems do not default to f64.
// "auto" is first.
std::vector<std::string> all_policies();

// Says why a run differs from the f64 run, as shown by another run.
enum class Cause : std::uint8_t {
  none,           // it does not differ
  other_minimum,  // certified at a higher cost; neither f64 nor long double finds a lower one from there
  iterations,     // it reached the iteration limit; with more iterations it ends in a minimum too
  stuck,          // f64 continued from its result is not certified and does not improve it
  lower,          // not certified, but at a lower cost than f64's minimum
  unexplained,
};
inline constexpr int kCauses = 6;
const char* name(Cause cause);

Cause cause_of(const Problem& problem, std::string_view policy, const nlsq::FitResult& fit,
               const nlsq::FitResult& f64, Outcome outcome);

// The totals of all runs under one policy.
struct Tally {
  std::string policy;
  int runs = 0, certified = 0, renamed = 0;
  std::array<int, 6> outcomes{};      // for each Outcome
  std::array<int, kCauses> causes{};  // for each Cause, of the runs that were worse, lower or lost
  int false_certificates = 0, unsound = 0;
  double rows_low = 0, rows_f64 = 0;  // from the kernels' counters
  double products_low = 0, products_f64 = 0;
  double work = 0, work_f64 = 0;  // counted work of this policy and of f64
  double worst_work = 0;          // the largest ratio in one problem

  int count(Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
  int count(Cause cause) const { return causes[static_cast<std::size_t>(cause)]; }
  int silent_wrong() const { return false_certificates + unsound; }
};

// A run to mention in the report.
struct Finding {
  std::string problem, policy, what;
  Cause cause = Cause::none;
};

class Census {
 public:
  explicit Census(std::vector<std::string> policies, nlsq::FitOptions options = {});

  // Fits the problem under every policy. run_repeated repeats the rows of `once`, which is what the oracle
  // evaluates.
  void run(const Problem& problem);
  void run_repeated(const Problem& once, std::size_t rows);

  int problems = 0, ill_conditioned = 0, large = 0, certified = 0;  // of the f64 runs; ill_conditioned: κ >
                                                                    // 1e8; large: 10^5 rows
  std::vector<Tally> tallies;
  Tally f64;  // faults of the f64 runs themselves
  std::vector<Finding> findings;

 private:
  void run(const Problem& problem, const Problem& once);
  void judge(const Problem& once, const nlsq::FitResult& fit, double copies, Tally& tally);

  nlsq::FitOptions options_;
};

// Returns the table, with one line for each policy, and the fractions of the problems.
std::string table(const Census& census);
std::string shares(const Census& census);

}  // namespace problems

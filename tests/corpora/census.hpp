// What becomes of many problems under many policies, each run held against the all-f64 run and against the
// oracle; and why a run ended otherwise.
#pragma once

#include "comparison.hpp"
#include "problem.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace problems {

// Every policy that has a name of its own, and those with the entry gate off besides, so that small problems
// cannot hide in f64. "auto" first.
std::vector<std::string> all_policies();

// Why a run is not as the all-f64 run, shown by another run.
enum class Cause : std::uint8_t {
  none,           // it is
  other_minimum,  // certified at a higher cost: f64 from there, and long double, go no lower
  iterations,     // its limit: with more it ends in a minimum, too
  stuck,          // where it ended f64 is not certified and gets no further, either
  lower,          // not certified, but lower than f64's minimum
  unexplained,
};
inline constexpr int kCauses = 6;
const char* name(Cause cause);

Cause cause_of(const Problem& problem, std::string_view policy, const nlsq::FitResult& fit,
               const nlsq::FitResult& f64, Outcome outcome);

// All runs under one policy.
struct Tally {
  std::string policy;
  int runs = 0, certified = 0, renamed = 0;
  std::array<int, 6> outcomes{};      // by Outcome
  std::array<int, kCauses> causes{};  // of those worse, lower or lost
  int false_certificates = 0, unsound = 0;
  double rows_low = 0, rows_f64 = 0;  // by the kernels' counters
  double products_low = 0, products_f64 = 0;
  double work = 0, work_f64 = 0;  // counted, of this policy and of all-f64
  double worst_work = 0;          // largest ratio of one problem

  int count(Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
  int count(Cause cause) const { return causes[static_cast<std::size_t>(cause)]; }
  int silent_wrong() const { return false_certificates + unsound; }
};

// A run that needs a word.
struct Finding {
  std::string problem, policy, what;
  Cause cause = Cause::none;
};

class Census {
 public:
  explicit Census(std::vector<std::string> policies, nlsq::FitOptions options = {});

  // Fits it under every policy. `copies`: how often its rows are the rows of `once`, which the oracle sees.
  void run(const Problem& problem);
  void run_repeated(const Problem& once, std::size_t rows);

  int problems = 0, ill_conditioned = 0, large = 0, certified = 0;  // of the all-f64 runs; κ > 1e8, 10^5 rows
  std::vector<Tally> tallies;
  Tally f64;  // what may be wrong with those, too
  std::vector<Finding> findings;

 private:
  void run(const Problem& problem, const Problem& once);
  void judge(const Problem& once, const nlsq::FitResult& fit, double copies, Tally& tally);

  nlsq::FitOptions options_;
};

// The table: a line a policy. And the shares of the problems.
std::string table(const Census& census);
std::string shares(const Census& census);

}  // namespace problems

// A curve fit as a value: what is fitted to what from where, and what the end must look like.
#pragma once

#include <nlsq/nlsq.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace problems {

enum class Expect : std::uint8_t {
  certified,       // CONVERGED, or NOISE_FLOOR where the residuals vanish
  rank_deficient,  // the data cannot tell some parameters apart
  as_f64,          // whatever the all-f64 run honestly says
};

struct Problem {
  std::string name;
  int generator = 0;
  std::string equation;  // with a left side where the response is transformed
  std::vector<std::string> predictors = {"x"};
  std::vector<std::vector<double>> x;  // one vector a predictor
  std::vector<double> y, sigma;        // sigma empty: all equal
  nlsq::NamedValues p0;
  Expect expect = Expect::certified;
  // One of these must appear in the trace of a run that starts in f32; empty: none is demanded.
  std::vector<nlsq::Event> events;
  bool must_stay_low = false;  // no promotion before the finish
  bool double_only = false;    // fitted as a callable that takes double alone
  bool repeatable = true;      // may be repeated to many rows

  std::size_t rows() const { return y.size(); }
};

// The problem with its rows repeated, whole, until there are at least `rows`.
Problem repeated(const Problem& problem, std::size_t rows);

nlsq::Formula parsed(const Problem& problem);

// The fit under a policy ("auto", "f32", ...); everything else as in `options`.
nlsq::FitResult fit(const Problem& problem, std::string_view policy, nlsq::FitOptions options = {});

}  // namespace problems

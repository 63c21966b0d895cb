// Describes a curve fit: model, data, start, and the expected outcome. The corpora consist of these.
#pragma once

#include <nlsq/nlsq.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace problems {

enum class Expect : std::uint8_t {
  certified,       // CONVERGED, or NOISE_FLOOR where the residuals vanish
  rank_deficient,  // the data cannot separate some parameters
  as_f64,          // the same verdict as the f64 run
};

struct Problem {
  std::string name;
  int generator = 0;
  std::string equation;  // has a left side if the response is transformed
  std::vector<std::string> predictors = {"x"};
  std::vector<std::vector<double>> x;  // one vector for each predictor
  std::vector<double> y, sigma;        // empty sigma: all equal
  nlsq::NamedValues p0;
  Expect expect = Expect::certified;
  // At least one of these must appear in the trace of a run that starts in f32; empty: no requirement.
  std::vector<nlsq::Event> events;
  bool must_stay_low = false;  // no escalation before the final f64 steps
  bool double_only = false;    // fitted as a callable that only accepts double
  bool repeatable = true;      // may be repeated to many rows

  std::size_t rows() const { return y.size(); }
};

// Repeats all rows of the problem until there are at least `rows`.
Problem repeated(const Problem& problem, std::size_t rows);

nlsq::Formula parsed(const Problem& problem);

// Fits the problem under a policy ("auto", "f32", ...). All other options are those in `options`.
nlsq::FitResult fit(const Problem& problem, std::string_view policy, nlsq::FitOptions options = {});

}  // namespace problems

// Selects the data for a first guess: at most a few thousand finite rows, sorted by x. Every built-in model
// uses it.
#pragma once

#include <nlsq/models.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace nlsq::inline v0::guessing {

enum class Domain { all, non_negative, positive };

struct Sample;

// Holds the full data behind a sample that holds a part of them, for rules that need more detail. Its
// functions return rows with x (the first predictor) in [low, high], at most `most` of them, sorted by x.
// There may be none. They read the rows in blocks.
class Source {
 public:
  Source(const Columns& x, const Column& y, const GuessHints& hints, Domain domain, std::size_t most)
      : x_(x), y_(y), hints_(hints), domain_(domain), most_(most) {}

  std::size_t rows() const { return y_.size(); }
  std::size_t most() const { return most_; }
  Sample pick(double low, double high) const;     // single rows, for oscillations
  Sample average(double low, double high) const;  // means over equal cells of x, for everything else
  // Returns rows spread over all data. `outside` is set to the number of them that lie outside the domain,
  // and `unusable` to the number with a value that is not finite or too large. Both are left out.
  Sample spread(std::size_t& outside, std::size_t& unusable) const;

 private:
  struct Block;
  struct Rows;
  template <class Visit>
  void for_blocks(std::size_t first, std::size_t last, Visit visit) const;
  template <class Visit>
  void for_rows(std::size_t first, std::size_t last, Visit visit) const;
  void expect_gaps(bool gaps) const;
  void will_read(std::size_t row) const;
  std::pair<std::size_t, std::size_t> index_range(double low, double high) const;
  bool ascends() const;

  const Columns& x_;
  const Column& y_;
  const GuessHints& hints_;
  Domain domain_;
  std::size_t most_;
  mutable std::optional<bool> ascends_;  // the first predictor ascends, so that ranges need no pass
};

// Holds rows sorted by x (with two predictors, by the first).
struct Sample {
  std::vector<double> x, y;
  std::vector<double> x2;                   // the second predictor, if the model has one
  std::vector<double> weight;               // of a row's residual: 1/sigma, scaled; empty: 1 for all rows
  double x_min = 0, span = 1;               // of x; span is 1 if all x are equal
  double y_min = 0, y_max = 0, y_mean = 0;  // the mean is weighted
  const Source* source = nullptr;           // null if the sample holds all rows

  void measure();  // computes the members below the rows
  // Sets `weight` from the standard deviations; the largest weight is 1. All rows in the tenth with the least
  // sigma get 1, so that no single row outweighs the others.
  void weigh(const std::vector<double>& sigma);
  // Returns standard deviations that correspond to these weights, for a guess of another model from these
  // rows.
  std::vector<double> sigma() const;
  double weight_of(std::size_t i) const { return weight.empty() ? 1.0 : weight[i]; }
  std::size_t rows() const { return x.size(); }
  bool flat() const;  // y varies by no more than rounding
  bool one_x() const { return x.empty() || x.front() == x.back(); }
  // Returns (x - x_min) / span, in [0, 1].
  std::vector<double> unit_x() const;
};

// Returns f(x) for each x, as the abscissa of a fit.
template <class F>
std::vector<double> mapped(const std::vector<double>& x, F f) {
  std::vector<double> t;
  t.reserve(x.size());
  for (const double value : x) t.push_back(f(value));
  return t;
}
inline std::vector<double> logarithms(const std::vector<double>& x) {
  return mapped(x, [](double value) { return std::log(value); });
}

// A rule takes a sample with at least one row and returns the model's parameters.
using GuessRule = std::function<std::vector<double>(const Sample&)>;

inline constexpr double kLargest = 1e150;     // larger values are left out: squares and spans would overflow
inline constexpr std::size_t kSmooth = 1000;  // enough rows for curves without sharp features
inline constexpr std::size_t kSharp = 2000;   // for peaks and oscillations

// Wraps a rule into Model::rule: checks sizes, samples, warns, and ensures that every value is finite.
std::function<Guess(const Columns&, const Column&, const GuessHints&)> sampled(
    int predictors, std::size_t parameters, Domain domain, std::size_t most, GuessRule rule);

// Corrects a first guess for counts, whose expectation must be positive in every row (positive_guess.cpp). A
// straight line through small counts, for example, may be below 0 at one end. If the model has a constant, it
// is raised until the curve is positive in every row. Reads all rows.
void make_positive(const Model& model, const Columns& x, const Column& y, std::vector<double>& values);

}  // namespace nlsq::inline v0::guessing

// Implements sampled(): checks the columns, applies a rule of a model to a sample, and reports what is wrong.
#include "models/guesses/sample.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>

namespace nlsq::inline v0::guessing {
namespace {

void check_sizes(int predictors, const Columns& x, const Column& y, const Column& sigma) {
  if (x.size() != static_cast<std::size_t>(predictors))
    throw DataError(fmt::format("the model takes {} predictor{}, {} given", predictors,
                                predictors == 1 ? "" : "s", x.size()));
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x.list()[k].size() != y.size())
      throw DataError(fmt::format("x has {} rows, y has {}", x.list()[k].size(), y.size()), DataError::npos,
                      k);
  if (!sigma.empty() && sigma.size() != y.size())
    throw DataError(fmt::format("sigma has {} rows, y has {}", sigma.size(), y.size()));
}

std::string complaint(const Sample& sample, std::size_t outside, std::size_t unusable, std::size_t parameters,
                      Domain domain) {
  if (sample.rows() == 0)
    return domain != Domain::all && outside > 0
               ? fmt::format("no rows with x {} 0: the guess is a formality",
                             domain == Domain::positive ? ">" : ">=")
               : fmt::format(
                     "no rows with finite values below {:g}: the guess is a formality. Give larger "
                     "values in other units, near 1",
                     kLargest);
  if (sample.one_x() && unusable > 0) {
    return fmt::format(
        "every x is {}, except where x or y is not below {:g}: the guess is a formality. Give larger values "
        "in "
        "other units, near 1",
        sample.x.front(), kLargest);
  }
  if (sample.one_x()) return fmt::format("every x is {}: the guess is a formality", sample.x.front());
  if (sample.flat() && parameters > 1)
    return fmt::format("y does not vary (it is {} throughout): the guess is a formality", sample.y_mean);
  if (sample.rows() < parameters)
    return fmt::format("{} rows for {} parameters: the guess is one of many", sample.rows(), parameters);
  if (outside > 0)
    return fmt::format("the guess leaves out rows with x {} 0, where the model may be undefined",
                       domain == Domain::positive ? "<=" : "<");
  return {};
}

}  // namespace

std::function<Guess(const Columns&, const Column&, const GuessHints&)> sampled(
    int predictors, std::size_t parameters, Domain domain, std::size_t most, GuessRule rule) {
  return [=](const Columns& x, const Column& y, const GuessHints& hints) {
    check_sizes(predictors, x, y, hints.sigma);
    const Source source(x, y, hints, domain, most);
    std::size_t outside = 0, unusable = 0;
    Sample sample = source.spread(outside, unusable);
    Guess guess;
    guess.warning = complaint(sample, outside, unusable, parameters, domain);
    if (sample.rows() == 0) {  // values of ordinary size for the rule
      sample.x = {1, 2};
      sample.y = {1, 1};
      sample.x2.assign(predictors > 1 ? 2 : 0, 1.0);
      sample.measure();
    } else if (y.size() > most) {
      sample.source = &source;
    }
    guess.values = rule(sample);
    for (double& value : guess.values) {
      if (std::isfinite(value)) continue;
      value = std::isnan(value) ? 1.0 : std::copysign(1e100, value);
      if (guess.warning.empty()) {
        guess.warning =
            "a parameter is beyond the largest number for the best curve, so the guess is a formality: give "
            "x a "
            "zero amid its values";
      }
    }
    return guess;
  };
}

}  // namespace nlsq::inline v0::guessing

namespace nlsq::inline v0 {

Guess Model::guess(std::span<const std::span<const double>> x, std::span<const double> y,
                   const GuessHints& hints) const {
  return rule(Columns(std::vector<Column>(x.begin(), x.end())), Column(y), hints);
}

}  // namespace nlsq::inline v0

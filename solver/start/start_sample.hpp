// Some rows of a formula's data, by which starting values are judged.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/formula.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class StartSample {
 public:
  // Takes at most 128 rows, spread over all of them. The first columns of `data` are the predictors, then
  // comes y, and then sigma if `weighted` is true. `linear` lists the parameters that enter the formula
  // linearly, by their numbers among all parameters.
  StartSample(const Formula& formula, const RowSource& data, bool weighted, std::vector<int> linear);

  std::size_t rows() const { return y_.size(); }
  // The sum of squared residuals with these parameters, of which the linear ones take their best values. It
  // is infinite where it is not finite, where the columns of linear parameters depend on each other, and
  // where waves are too fast for the rows.
  double squares(std::vector<double> parameters) const;

 private:
  bool waves_are_slow(std::span<const double> parameters) const;
  std::vector<double> values_of(const Formula& formula, std::span<const double> parameters) const;

  const Formula& formula_;
  std::vector<int> linear_;
  std::vector<std::vector<double>> x_;
  std::vector<double> y_, weights_;
  std::vector<Formula> phases_;  // the arguments of sine, cosine and tangent; none if there are several x
};

}  // namespace nlsq::inline v0

#include "certificate/difference_errors.hpp"

#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

double error_by_differences(const Linearization& at, const Certificate& c, std::size_t rows) {
  return at.derivative_error * std::sqrt(c.condition / static_cast<double>(std::max<std::size_t>(rows, 1)));
}

double squared_error_of_differences(const Evaluator& evaluator, std::span<const double> x,
                                    const Linearization& at) {
  double squares = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double width = evaluator.difference_width(x, j), column = std::sqrt(at.normal(j, j));
    if (width > 0 && column > 0) squares += 1 / (width * width * column * column);
  }
  return squares;
}

Vector extrapolate_derivatives(DenseEvaluator& evaluator, std::span<const double> x, Linearization& at) {
  if (!evaluator.extrapolate(true)) return {};
  Linearization better = evaluator.linearize(x, kF64Plan);
  Vector squares = evaluator.derivative_errors(x);
  if (!better.finite || squares.empty()) {
    evaluator.extrapolate(false);
    evaluator.linearize_into(x, kF64Plan, at);
    return {};
  }
  at = std::move(better);
  for (std::size_t j = 0; j < x.size(); ++j) squares[j] *= squares[j] * at.normal(j, j);
  return squares;
}

Vector refine_derivatives(DenseEvaluator& evaluator, std::span<const double> x, double magnitude,
                          Linearization& at) {
  constexpr double kUsual = 1e-8;  // relative error of J
  const double rounding = kUnitRoundoff * magnitude;
  if (!(rounding * std::sqrt(squared_error_of_differences(evaluator, x, at)) > kUsual)) return {};
  Vector bounds(x.size(), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double width = evaluator.difference_width(x, j);
    if (width > 0) bounds[j] = (rounding / width) * (rounding / width);
  }
  Vector squares = extrapolate_derivatives(evaluator, x, at);
  return squares.empty() ? bounds : squares;
}

}  // namespace nlsq::inline v0

// Compares second-order differences of the residuals with the second derivatives of the model.
#include "dense/dense_evaluator.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "dense_rows.hpp"

using namespace nlsq;
using namespace dense_rows;

namespace {

double decay(double x) { return 3 * std::exp(-2 * x) + 0.5 + 0.01 * std::sin(1e4 * x); }

}  // namespace

TEST_CASE("the second derivative along a direction is that of the model") {
  FormulaRows data("a*exp(-b*x)", 100, decay);
  DenseEvaluator evaluator(*data.rows);
  const Vector p{2, 1.5}, v{0.3, -0.2};
  Vector bend;
  const double squares = evaluator.second_order_into(p, v, 1e-4, bend);
  double expected[2] = {0, 0}, expected_squares = 0;
  for (const double x : data.x) {
    const double e = std::exp(-p[1] * x);
    // These are f_ab = -x e, f_bb = a x² e.
    const double second = 2 * v[0] * v[1] * -x * e + v[1] * v[1] * p[0] * x * x * e;
    expected[0] += e * second;
    expected[1] += -p[0] * x * e * second;
    expected_squares += second * second;
  }
  for (std::size_t j = 0; j < 2; ++j) CHECK(bend[j] == doctest::Approx(expected[j]).epsilon(1e-3));
  CHECK(squares == doctest::Approx(expected_squares).epsilon(1e-3));
}

TEST_CASE("second-order differences have the same bits on any number of threads, and reach every row") {
  FormulaRows data("a*exp(-b*x)", 100'001, decay);
  const Vector p{2, 1.5}, v{0.3, -0.2};
  Vector one, two, far;
  DenseEvaluator(*data.rows, {.threads = 1, .executor = {}}).second_order_into(p, v, 1e-4, one);
  DenseEvaluator(*data.rows, {.threads = 2, .executor = {}}).second_order_into(p, v, 1e-4, two);
  CHECK(one == two);
  long double expected[2] = {0, 0};
  for (const double x : data.x) {
    const double e = std::exp(-p[1] * x), second = 2 * v[0] * v[1] * -x * e + v[1] * v[1] * p[0] * x * x * e;
    expected[0] += e * second;
    expected[1] += -p[0] * x * e * second;
  }
  for (std::size_t j = 0; j < 2; ++j)
    CHECK(one[j] == doctest::Approx(static_cast<double>(expected[j])).epsilon(1e-3));
  DenseEvaluator(*data.rows).second_order_into(Vector{1, -800}, v, 1e-4, far);
  CHECK_FALSE(std::isfinite(far[0]));  // so the caller sees that it cannot be used
}

// Tests gradients within the bound of their rounding errors. They may still be true, because the bound is a
// worst case. If the linear model holds only for a shorter step than it asks for, the cost decides.
#include <nlsq/certify.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

using namespace nlsq;

namespace {

// Adds two large numbers that cancel. Their rounding hides the slope of all other rows along them.
struct Cancels {
  template <class T>
  T operator()(const T* p) const {
    return p[0] + p[1];
  }
};

// This is almost flat at the start, and then falls with the third power: neither a minimum nor a second-order
// saddle.
struct Inflection {
  double slope, level;
  template <class T>
  T operator()(const T* p) const {
    const T along = p[0] - p[1] - 2e8, part = along / 100.0;
    return slope * along - part * part * part + level;
  }
};

struct Constant {
  double value;
  template <class T>
  T operator()(const T* q) const {
    return q[0] - value;
  }
};

struct Flat {
  double p[2] = {1e8, -1e8}, q[1] = {0};
  Problem problem;
  Flat(double first, double second) {
    problem.add_residual_block(Cancels{}, nullptr, {p});
    problem.add_residual_block(Inflection{first, 1}, nullptr, {p});
    problem.add_residual_block(Inflection{second, 1}, nullptr, {p});
    for (const double value : {1.0, -1.0}) problem.add_residual_block(Constant{value}, nullptr, {q});
  }
};

}  // namespace

TEST_CASE(
    "A decrease that the cost shows is not rounding, although the gradient is within its rounding bound") {
  Flat flat(-1e-7, 0.9e-7);
  const Summary here = certify(flat.problem);
  CAPTURE(here.certificate.governed_by);
  CAPTURE(here.certificate.decrement_sigma);
  CHECK_FALSE(is_success(here.verdict));
  const Summary summary = solve(flat.problem);
  CAPTURE(summary.message);
  CHECK(is_success(summary.verdict));
  CHECK(summary.final_cost == doctest::Approx(1));  // the cost of the two constants
}

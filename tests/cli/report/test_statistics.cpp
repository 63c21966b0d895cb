// Compares the distributions of the report with closed forms.
#include "report/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace nlsq::cli;

namespace {

bool near(double value, double expected, double tolerance = 1e-13) {
  return std::fabs(value - expected) <= tolerance * std::fabs(expected);
}

}  // namespace

TEST_CASE("Student's quantile has its closed forms for one, two and four degrees of freedom") {
  for (const double c : {0.001, 0.1, 0.5, 0.6827, 0.9, 0.95, 0.99, 0.9999, 0.999999}) {
    CAPTURE(c);
    CHECK(near(student_t_quantile(c, 1), std::tan(M_PI * c / 2), 1e-10));
    CHECK(near(student_t_quantile(c, 2), c * std::sqrt(2 / (1 - c * c)), 1e-10));
    const double a = 1 - c * c;  // for four degrees of freedom: Shaw, J. Comput. Finance 9 (2006) 37
    const double q = std::cos(std::acos(std::sqrt(a)) / 3) / std::sqrt(a);
    CHECK(near(student_t_quantile(c, 4), 2 * std::sqrt(q - 1), 1e-9));
  }
}

TEST_CASE("quantile and coverage undo each other at any number of degrees of freedom") {
  for (const double dof : {1.0, 2.5, 7.0, 29.0, 1000.0, 1e5, 1e6}) {
    for (const double c : {0.05, 0.5, 0.95, 0.9999}) {
      CAPTURE(dof);
      CAPTURE(c);
      CHECK(near(student_t_coverage(student_t_quantile(c, dof), dof), c, 1e-11));
    }
  }
}

TEST_CASE("many degrees of freedom lead over to the normal distribution without a step") {
  const double normal = 1.9599639845400545;
  CHECK(near(student_t_quantile(0.95, std::numeric_limits<double>::infinity()), normal, 1e-15));
  CHECK(near(student_t_quantile(0.95, 1e12), normal, 1e-11));
  // The expansion begins between these. The slope there is -z(z²+1)/(4 dof²).
  const double below = student_t_quantile(0.95, 9990), above = student_t_quantile(0.95, 10010);
  CHECK(near(below - above, 20 * normal * (normal * normal + 1) / 4e8, 1e-3));
  CHECK(near(student_t_quantile(0.6826894921370859, 1e15), 1.0, 1e-14));
  CHECK(std::isnan(student_t_quantile(0.95, 0)));
}

TEST_CASE("the incomplete beta function has its closed forms and its symmetry") {
  for (const double x : {0.0, 1e-3, 0.2, 0.5, 0.77, 1.0}) {
    CAPTURE(x);
    CHECK(near(incomplete_beta(1, 1, x), x));
    CHECK(near(incomplete_beta(3, 1, x), x * x * x, 1e-12));
    CHECK(near(incomplete_beta(0.5, 0.5, x), 2 / M_PI * std::asin(std::sqrt(x)), 1e-12));
    CHECK(near(incomplete_beta(2, 3, x), x * x * (6 - 8 * x + 3 * x * x), 1e-12));
    CHECK(incomplete_beta(7.5, 40, x) + incomplete_beta(40, 7.5, 1 - x) == doctest::Approx(1).epsilon(1e-13));
  }
}

TEST_CASE("the p-value has its closed forms for one, two and ten degrees of freedom") {
  for (const double v : {0.0, 0.01, 1.0, 3.84, 9.9, 40.0, 600.0}) {
    CAPTURE(v);
    const double h = v / 2;
    CHECK(near(chi_square_p_value(v, 1), std::erfc(std::sqrt(h)), 1e-12));
    CHECK(near(chi_square_p_value(v, 2), std::exp(-h), 1e-12));
    CHECK(near(chi_square_p_value(v, 10), std::exp(-h) * (1 + h * (1 + h / 2 * (1 + h / 3 * (1 + h / 4)))),
               1e-12));
  }
  CHECK(std::isnan(chi_square_p_value(1, 0)));
}

TEST_CASE("the p-value of a mean value is near one half, for a hundred million degrees of freedom too") {
  for (const double dof : {1e4, 1e6, 1e8}) {
    // The distribution's skewness gives Q(a, a) = 1/2 - 1/(3 sqrt(2 pi a)) + O(a^-3/2).
    const double a = dof / 2;
    CHECK(chi_square_p_value(dof, dof) ==
          doctest::Approx(0.5 - 1 / (3 * std::sqrt(2 * M_PI * a))).epsilon(1e-7));
  }
}

// Checks that two fits report equal parameters, standard errors, rss, R² and verdict.
#pragma once

#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>

inline void check_same_numbers(const nlsq::FitResult& a, const nlsq::FitResult& b) {
  CHECK(a.parameters == b.parameters);
  CHECK(a.standard_errors == b.standard_errors);
  CHECK(a.rss == b.rss);
  CHECK(a.r_squared == b.r_squared);
  CHECK(a.summary.verdict == b.summary.verdict);
}

// Checks that the project's copy of NIST's figures is sound. Every model, evaluated at its certified values,
// must have the certified residual sum of squares.
#include <doctest/doctest.h>

#include <nlsq/formula.hpp>

#include <set>

#include "nist.hpp"

namespace {

double sum_of_squares(const nist::Set& set, const std::vector<double>& p) {
  nlsq::FormulaOptions options;
  options.predictors = set.predictors;
  const nlsq::Formula formula = nlsq::parse_formula(set.equation(), options);
  REQUIRE(formula.parameters.size() == p.size());
  std::vector<double> ordered;  // in the formula's order, which is that of first appearance
  for (const std::string& name : formula.parameters) {
    const auto at = std::find(set.parameters.begin(), set.parameters.end(), name);
    REQUIRE(at != set.parameters.end());
    ordered.push_back(p[static_cast<std::size_t>(at - set.parameters.begin())]);
  }
  long double total = 0;
  std::vector<double> row(set.x.size());
  for (std::size_t i = 0; i < set.rows(); ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = set.x[k][i];
    const long double r = formula.evaluate(row, ordered) - formula.evaluate_response(row, set.y[i]);
    total += r * r;
  }
  return static_cast<double>(total);
}

}  // namespace

TEST_CASE("the copy holds all 27 sets, each with its rows, starts and certified values") {
  const auto sets = nist::load();
  CHECK(sets.size() == 27);
  std::set<std::string> names;
  for (const nist::Set& set : sets) {
    CAPTURE(set.name);
    CHECK(names.insert(set.name).second);
    const std::size_t n = set.parameters.size();
    CHECK(set.start1.size() == n);
    CHECK(set.start2.size() == n);
    CHECK(set.certified.size() == n);
    CHECK(set.certified_std_error.size() == n);
    CHECK(set.dof >= 1);
    CHECK(set.dof == doctest::Approx(set.rss / (set.residual_std_dev * set.residual_std_dev)).epsilon(1e-8));
  }
}

TEST_CASE("certified values reproduce the certified residual sum of squares") {
  for (const nist::Set& set : nist::load()) {
    CAPTURE(set.name);
    const double rss = sum_of_squares(set, set.certified);
    // Lanczos1's certified sum (1.4e-25) is less than eleven printed digits of the values can reach.
    if (set.name == "Lanczos1") CHECK(rss < 1e-19);
    else CHECK(nist::lre(rss, set.rss) > 8);
  }
}

TEST_CASE("a displaced certified value is noticed") {
  const auto sets = nist::load();
  const nist::Set& set = nist::find(sets, "Misra1a");
  std::vector<double> p = set.certified;
  p[0] *= 1.001;
  CHECK(nist::lre(sum_of_squares(set, p), set.rss) < 1);
}

TEST_CASE("lre counts correct digits, capped at eleven and floored at none") {
  CHECK(nist::lre(1.0001, 1.0) == doctest::Approx(4).epsilon(1e-6));
  CHECK(nist::lre(-2.0, -2.0) == 11);
  CHECK(nist::lre(1e-5, 0) == doctest::Approx(5));
  CHECK(nist::lre(50.0, 1.0) == 0);
  CHECK(nist::lre(std::nan(""), 1.0) == 0);
}

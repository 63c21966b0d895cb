// Tests certify() on NIST's regressions. The certified values must pass; values a standard error away must
// not.
#include <doctest/doctest.h>
#include <nlsq/certify.hpp>

#include "nist_fits.hpp"

namespace {

nlsq::FitResult judge(const nist::Set& set, std::vector<double> values) {
  nlsq::FormulaOptions names;
  names.predictors = set.predictors;
  const nlsq::Formula formula = nlsq::parse_formula(set.equation(), names);
  nlsq::NamedValues p;
  for (std::size_t j = 0; j < values.size(); ++j) p.emplace_back(set.parameters[j], values[j]);
  const std::vector<nlsq::Column> x(set.x.begin(), set.x.end());
  nlsq::FitResult fit = nlsq::certify(formula, nlsq::Columns(x), set.y, p);
  // Not a single bit may change.
  for (std::size_t j = 0; j < p.size(); ++j) {
    const auto at = std::find(fit.parameter_names.begin(), fit.parameter_names.end(), p[j].first);
    CHECK(fit.parameters[static_cast<std::size_t>(at - fit.parameter_names.begin())] == p[j].second);
  }
  CHECK(fit.summary.accepted + fit.summary.rejected == 0);
  return fit;
}

}  // namespace

TEST_CASE("NIST's certified values pass, rounded as they are to eleven digits") {
  for (const nist::Set& set : nist::load()) {
    const nlsq::FitResult fit = judge(set, set.certified);
    CAPTURE(set.name);
    CAPTURE(fit.summary.message);
    CAPTURE(fit.summary.certificate.decrement_sigma);
    // The residuals of Lanczos1 are near 1e-13, so the eleventh digit is worth 4 standard errors.
    CHECK(fit.success() == (set.name != "Lanczos1"));
    CHECK(fit.summary.certificate.decrement_sigma < 10);
  }
}

TEST_CASE("values that are one standard error off fail, and the distance is at least about that") {
  for (const nist::Set& set : nist::load()) {
    for (std::size_t j = 0; j < set.certified.size(); ++j) {
      std::vector<double> values = set.certified;
      values[j] += set.certified_std_error[j];
      const nlsq::FitResult fit = judge(set, values);
      CAPTURE(set.name);
      CAPTURE(set.parameters[j]);
      CAPTURE(fit.summary.message);
      CHECK_FALSE(fit.success());
      // If one parameter moves by one standard error, the distance in the metric of the covariance is at
      // least one.
      CHECK_FALSE(fit.summary.certificate.decrement_sigma < 0.3);
    }
  }
}

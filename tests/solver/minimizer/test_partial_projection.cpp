// Tests variable projection if only some parameters can be eliminated: bounds, ties, confounded parameters.

#include <nlsq/nlsq.hpp>

#include "corpora/noise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "projected_fits.hpp"

using namespace nlsq;
using namespace projected_fits;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("parameters with bounds are not eliminated, the others are, and the answer keeps the bounds") {
  const Sample& s = kSamples[2];
  const Data d = drawn(s, 150);
  const Formula formula = parse_formula(s.formula);
  for (const double most : {10.0, 1.9}) {  // upper bound of a2, whose best value is 2
    FitOptions off = options_of(VariableProjection::off), on = options_of(VariableProjection::on);
    for (FitOptions* o : {&off, &on}) {
      o->bounds = {std::vector<double>(5, -kInf), std::vector<double>(5, kInf)};
      o->bounds.upper[static_cast<std::size_t>(std::ranges::find(formula.parameters, "a2") -
                                               formula.parameters.begin())] = most;
    }
    const FitResult a = curve_fit(s.formula, d.x, d.y, s.start, on),
                    b = curve_fit(s.formula, d.x, d.y, s.start, off);
    CHECK(eliminated(a) == Names{"a1", "c"});
    CHECK(a.success());
    CHECK(a.at_bound == b.at_bound);
    CHECK(std::ranges::count(a.at_bound, true) == (most < 2 ? 1 : 0));
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(1e-8));
  }
  FitOptions all = options_of(VariableProjection::on);
  all.bounds = {{-100}, {100}};
  const FitResult none = curve_fit(s.formula, d.x, d.y, s.start, all);
  CHECK(none.success());
  CHECK(eliminated(none).empty());
  CHECK(warns(none, "bounds"));
}

TEST_CASE(
    "nothing is eliminated under a loss, of counts, with errors in x, of a model that is not linear or all "
    "linear") {
  const Sample& s = kSamples[0];
  const Data d = drawn(s, 100);
  const auto none = [&](const std::string& formula, const FitOptions& options, const char* why,
                        std::vector<double> y) {
    CAPTURE(why);
    const FitResult fit = curve_fit(formula, d.x, y, {}, options);
    CHECK(fit.success());
    CHECK(eliminated(fit).empty());
    CHECK(warns(fit, why));
  };
  FitOptions on = options_of(VariableProjection::on);
  on.loss = Loss::huber(0.1);
  none(s.formula, on, "under a loss", d.y);
  std::vector<double> counts;
  for (const double x : d.x) counts.push_back(std::round(40 * std::exp(-x) + 5));
  on.loss = Loss::poisson();
  none("a*exp(-b*x)+c", on, "under a loss", counts);
  on.loss = {};
  const std::vector<double> errors(d.x.size(), 0.02);
  on.sigma = errors;
  on.sigma_x = {Column(errors)};
  none(s.formula, on, "errors in x", d.y);
  FitOptions dogleg = options_of(VariableProjection::on);
  dogleg.algorithm = Algorithm::dogleg;
  none(s.formula, dogleg, "Levenberg-Marquardt", d.y);
  none("a^2*exp(-b*x)+c^2", options_of(VariableProjection::on), "linear in no", d.y);
  none("a+b*x+c*x^2", options_of(VariableProjection::on), "linear in all", d.y);
  // If it is not asked for, no message is given.
  FitOptions automatic = options_of(VariableProjection::automatic);
  automatic.loss = Loss::huber(0.1);
  CHECK(curve_fit(s.formula, d.x, d.y, {}, automatic).warnings.empty());
}

TEST_CASE("with ties, parameters that are linear in the resulting model are eliminated") {
  const Sample& s = kSamples[2];
  const Data d = drawn(s, 150);
  const auto start = [](std::initializer_list<const char*> names) {
    NamedValues out;
    for (const auto& [name, value] : kSamples[2].start) {
      if (std::ranges::find(names, name) != names.end()) out.emplace_back(name, value);
    }
    return out;
  };
  FitOptions on = options_of(VariableProjection::on), off = options_of(VariableProjection::off);
  on.ties = off.ties = {"a2 = a1/1.5"};
  const FitResult linear = curve_fit(s.formula, d.x, d.y, start({"b1", "b2"}), on);
  CHECK(eliminated(linear) == Names{"a1", "c"});
  check_same(linear, curve_fit(s.formula, d.x, d.y, start({"b1", "b2"}), off));
  on.ties = off.ties = {"a2 = 6/a1"};
  const FitResult not_linear = curve_fit(s.formula, d.x, d.y, start({"a1", "b1", "b2"}), on);
  CHECK(eliminated(not_linear) == Names{"c"});
  check_same(not_linear, curve_fit(s.formula, d.x, d.y, start({"a1", "b1", "b2"}), off));
}

TEST_CASE("confounded linear parameters: the rank is reported, and what the data determine is the same") {
  const Sample& s = kSamples[0];
  const Data d = drawn(s, 100);
  const FitResult on =
      curve_fit("(a+b)*exp(-k*x)+c", d.x, d.y, {{"k", 0.3}}, options_of(VariableProjection::on));
  const FitResult off =
      curve_fit("(a+b)*exp(-k*x)+c", d.x, d.y, {{"k", 0.3}}, options_of(VariableProjection::off));
  CHECK(on.summary.verdict == Verdict::rank_deficient);
  CHECK(off.summary.verdict == Verdict::rank_deficient);
  CHECK(on.summary.certificate.rank == 3);
  CHECK(eliminated(on) == Names{"a", "c"});
  CHECK(on.parameters[0] + on.parameters[1] ==
        doctest::Approx(off.parameters[0] + off.parameters[1]).epsilon(1e-8));
  CHECK(on.parameters[2] == doctest::Approx(off.parameters[2]).epsilon(1e-8));
  CHECK(on.rss == doctest::Approx(off.rss).epsilon(1e-10));
}

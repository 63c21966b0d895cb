// Tests derived quantities: values, errors by the delta method, intervals by profile likelihood.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"
#include "solver/prediction/decay_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace nlsq;

namespace {

const NamedValues kStart = {{"a", 4}, {"b", 1}, {"c", 0}};

FitResult decay_fit(const FitOptions& options = {}) {
  static const DecayRows d = decay_rows();
  return curve_fit(kDecay, d.x, d.y, kStart, options);
}

}  // namespace

TEST_CASE("a quantity has the standard error of the formula by hand") {
  const FitResult fit = decay_fit();
  const double b = fit.parameters[1], sb = fit.standard_errors[1];
  const DerivedQuantity half = derive(fit, "half_life = log(2)/b");
  CHECK(half.name == "half_life");
  CHECK(half.expression == "log(2)/b");
  CHECK(half.value == doctest::Approx(std::log(2) / b).epsilon(1e-14));
  CHECK(half.standard_error == doctest::Approx(std::log(2) / (b * b) * sb).epsilon(1e-12));
  CHECK(half.ci_high - half.value == doctest::Approx(2.0738730679040147 * half.standard_error));  // t for 22
  CHECK(half.note.empty());

  // Var(a + c) is Var a + Var c + 2 Cov. Var(a/c) follows from the quotient rule.
  const double a = fit.parameters[0], c = fit.parameters[2];
  const double aa = fit.covariance(0, 0), cc = fit.covariance(2, 2), ac = fit.covariance(0, 2);
  CHECK(derive(fit, "top=a+c").standard_error == doctest::Approx(std::sqrt(aa + cc + 2 * ac)).epsilon(1e-12));
  CHECK(derive(fit, "ratio=a/c").standard_error ==
        doctest::Approx(std::sqrt(aa / (c * c) + cc * a * a / (c * c * c * c) - 2 * ac * a / (c * c * c)))
            .epsilon(1e-11));
}

TEST_CASE("a quantity may use earlier ones, and the chain rule is followed") {
  const FitResult fit = decay_fit();
  const auto q = derive(fit, {"tau = 1/b", "half_life = log(2)*tau", "sum = half_life + tau + a"});
  const DerivedQuantity direct = derive(fit, "sum = log(2)/b + 1/b + a");
  CHECK(q[1].value == doctest::Approx(std::log(2) / fit.parameters[1]).epsilon(1e-14));
  CHECK(q[2].value == doctest::Approx(direct.value).epsilon(1e-14));
  CHECK(q[2].standard_error == doctest::Approx(direct.standard_error).epsilon(1e-12));
}

TEST_CASE("fixed and tied parameters, absolute sigma") {
  const DecayRows d = decay_rows();
  FitOptions held;
  held.fixed = {"c"};
  const FitResult fixed = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 1}}, held);
  CHECK(derive(fixed, "twice=2*c", held).standard_error == 0);
  CHECK(derive(fixed, "twice=2*c", held).ci_low == 2);
  FitOptions ties;
  ties.ties = {"c = a/5"};
  const FitResult tied = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}}, ties);
  CHECK(derive(tied, "top=a+c", ties).standard_error ==
        doctest::Approx(1.2 * tied.standard_errors[0]).epsilon(1e-12));
  FitOptions absolute;
  absolute.sigma = d.sigma;
  absolute.absolute_sigma = true;
  const DerivedQuantity q = derive(decay_fit(absolute), "twice=2*b", absolute);
  CHECK(q.ci_high - q.value == doctest::Approx(1.959963984540054 * q.standard_error).epsilon(1e-9));
}

TEST_CASE("an undefined quantity is NaN and has a note") {
  const FitResult fit = decay_fit();
  const DerivedQuantity bad = derive(fit, "q = log(-b)");
  CHECK(std::isnan(bad.value));
  CHECK(std::isnan(bad.standard_error));
  CHECK(contains(bad.note, "not finite"));
  const std::vector<double> x = {0, 1, 2}, y = {6, 3.2, 2};
  const DerivedQuantity none = derive(curve_fit(kDecay, x, y, kStart), "tau=1/b");
  CHECK(std::isfinite(none.value));
  CHECK(std::isnan(none.ci_low));
  CHECK(contains(none.note, "as many parameters as rows"));
  FitOptions bounded;
  bounded.bounds = {{-INFINITY, -INFINITY, 1.2}, {INFINITY, INFINITY, INFINITY}};
  const DecayRows d = decay_rows();
  const FitResult held = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 2}}, bounded);
  CHECK(contains(derive(held, "top=a+c", bounded).note, "on a bound"));
  // A profile lets the parameter leave its bound. Only the standard error treats it as fixed.
  const auto by_profile = derive_by_profile(kDecay, Columns(d.x), d.y, held, {"top=a+c"}, bounded);
  CHECK(by_profile[0].by_profile);
  CHECK(contains(by_profile[0].note, "the standard error takes a parameter on a bound as fixed there"));
}

TEST_CASE("mistakes in an expression are named") {
  const FitResult fit = decay_fit();
  const auto said = [&](const std::vector<std::string>& texts) {
    return message_of([&] { derive(fit, texts); });
  };
  CHECK(said({"log(2)/b"}) == "derived 'log(2)/b': write name = expression, as in half_life = log(2)/b");
  CHECK(said({"q = log(2)/k"}) ==
        "derived 'q = log(2)/k': there is no parameter 'k'; the parameters are a, b, c");
  CHECK(contains(said({"q = 1/b", "r = q + s"}), "and the quantities derived before are q"));
  CHECK(contains(said({"r = q", "q = 1/b"}), "there is no parameter 'q'"));
  CHECK(contains(said({"b = 2*a"}), "'b' is a parameter of the model"));
  CHECK(contains(said({"q = a", "q = b"}), "'q' is defined twice"));
  CHECK(contains(said({"pi = a"}), "pi is a constant"));
  CHECK(contains(said({"q = log(2"}), "derived 'q = log(2'"));
  DeriveOptions beyond;
  beyond.confidence = 2;
  CHECK(contains(message_of([&] { derive(fit, "q=b", {}, beyond); }), "confidence = 2"));
}

TEST_CASE("the profile of a function of one parameter is that of the parameter, transformed") {
  const DecayRows d = decay_rows();
  const FitResult fit = decay_fit();
  const ProfileInterval b = profile_intervals(kDecay, d.x, d.y, fit).intervals[1];
  const DerivedQuantity q = derive_by_profile(kDecay, d.x, d.y, fit, {"half_life=log(2)/b"}).front();
  CHECK(q.by_profile);
  CHECK(q.ci_low == doctest::Approx(std::log(2) / b.upper).epsilon(1e-6));
  CHECK(q.ci_high == doctest::Approx(std::log(2) / b.lower).epsilon(1e-6));
  CHECK(q.fits > 4);
  CHECK(q.note.empty());
  // This interval is not symmetric, unlike that of the delta method.
  CHECK(q.ci_high - q.value > 1.02 * (q.value - q.ci_low));
}

TEST_CASE("the profile of a function of several parameters is that of a model with it as a parameter") {
  const DecayRows d = decay_rows();
  // Here h = a/c is a parameter, so a = h*c.
  const FitResult other = curve_fit("h*c*exp(-b*x)+c", d.x, d.y, {{"h", 5}, {"c", 1}, {"b", 1}});
  const auto intervals = profile_intervals("h*c*exp(-b*x)+c", d.x, d.y, other).intervals;
  const auto q = derive_by_profile(kDecay, d.x, d.y, decay_fit(), {"inverse=c/a", "h=1/inverse"});
  CHECK(intervals[0].parameter == "h");
  CHECK(q[1].ci_low == doctest::Approx(intervals[0].lower).epsilon(1e-6));
  CHECK(q[1].ci_high == doctest::Approx(intervals[0].upper).epsilon(1e-6));
  CHECK(q[0].ci_low == doctest::Approx(1 / intervals[0].upper).epsilon(1e-6));
}

TEST_CASE("profiles with sigma, absolute sigma, ties and a left side") {
  const DecayRows d = decay_rows();
  FitOptions absolute;
  absolute.sigma = d.sigma;
  absolute.absolute_sigma = true;
  const FitResult fit = decay_fit(absolute);
  const auto b = profile_intervals(kDecay, d.x, d.y, fit, absolute).intervals[1];
  const auto q = derive_by_profile(kDecay, d.x, d.y, fit, {"tau=1/b"}, absolute).front();
  CHECK(q.ci_low == doctest::Approx(1 / b.upper).epsilon(1e-6));

  FitOptions ties;
  ties.ties = {"c = a/5"};
  const FitResult tied = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}}, ties);
  const auto a = profile_intervals(kDecay, d.x, d.y, tied, ties).intervals[0];
  const auto r = derive_by_profile(kDecay, d.x, d.y, tied, {"fifth=c"}, ties).front();
  CHECK(r.ci_high == doctest::Approx(a.upper / 5).epsilon(1e-6));

  // log(y) is linear in k and u, so the profile of k is its standard interval.
  const Formula left = parse_formula("log(y) = k - u*x");
  const FitResult line = curve_fit(left, d.x, d.y);
  const auto s = derive_by_profile(left, d.x, d.y, line, {"same=k"}).front();
  CHECK(s.ci_low == doctest::Approx(derive(line, "same=k").ci_low).epsilon(1e-6));
}

TEST_CASE("a profile without an end is infinite") {
  // The data are compatible with b = 0, for which 1/b is infinite.
  std::vector<double> x, y;
  for (int i = 0; i < 12; ++i) x.push_back(i), y.push_back(2 - 0.03 * i + 0.1 * ((i * 5) % 7 - 3));
  const FitResult fit = curve_fit("a-b*x", x, y);
  const auto q = derive_by_profile("a-b*x", x, y, fit, {"tau=1/b"}).front();
  CHECK(q.value > 0);
  CHECK(q.ci_high == INFINITY);
  CHECK(contains(q.note, "the data set no limit"));
}

TEST_CASE("profiles that do not exist are refused") {
  const DecayRows d = decay_rows();
  FitOptions robust;
  robust.loss = Loss::huber(0.1);
  const FitResult fit = decay_fit(robust);
  CHECK(contains(message_of([&] { derive_by_profile(kDecay, d.x, d.y, fit, {"q=b"}, robust); }),
                 "loss huber is no likelihood"));
  const std::vector<double> x = {0, 1, 2}, y = {6, 3.2, 2};
  const FitResult exact = curve_fit(kDecay, x, y, kStart);
  CHECK(contains(message_of([&] { derive_by_profile(kDecay, x, y, exact, {"q=b"}); }), "degrees of freedom"));
}

TEST_CASE("by profile, a monotonic function of the only parameter has the ends of that parameter") {
  // The cost is not convex as a function of b^3 near 0, and as a function of exp(4*b) it rises ever more
  // steeply towards 0.
  const std::vector<double> x = {1, 2, 3, 4, 5, 6}, y = {1.0, -0.5, 2.2, 1.9, 0.1, 0.6};
  const FitResult fit = curve_fit("b+0*x", x, y);
  const ProfileInterval b = profile_intervals("b+0*x", x, y, fit).intervals[0];
  CHECK(b.lower < 0);
  const auto q =
      derive_by_profile("b+0*x", x, y, fit, {"cube = b^3", "growth = exp(4*b)", "rise = tanh(3*b)"});
  CHECK(q[0].ci_low == doctest::Approx(b.lower * b.lower * b.lower).epsilon(1e-5));
  CHECK(q[0].ci_high == doctest::Approx(b.upper * b.upper * b.upper).epsilon(1e-5));
  CHECK(q[1].ci_low == doctest::Approx(std::exp(4 * b.lower)).epsilon(1e-5));
  CHECK(q[1].ci_high == doctest::Approx(std::exp(4 * b.upper)).epsilon(1e-5));
  CHECK(q[2].ci_low == doctest::Approx(std::tanh(3 * b.lower)).epsilon(1e-5));
  for (const DerivedQuantity& each : q) CHECK(each.note.empty());
}

TEST_CASE("by profile, a quantity that has a limit ends there") {
  std::vector<double> x, y;
  for (int i = 1; i <= 12; ++i) x.push_back(i), y.push_back(1.42 * i + 2.5 * std::sin(7.0 * i));
  const FitResult fit = curve_fit("a*x", x, y);
  const double a = fit.parameters[0];
  CHECK(std::fabs(a - 1.5) < fit.standard_errors[0]);
  const auto q = derive_by_profile("a*x", x, y, fit, {"s = sin(a)", "d = abs(a-1.5)", "e = exp(-(a-1.5)^2)"});
  CHECK(q[0].ci_high == doctest::Approx(1));
  CHECK(std::fabs(q[1].ci_low) < 1e-6);
  CHECK(q[2].ci_high == doctest::Approx(1));
  for (const DerivedQuantity& each : q) CHECK(contains(each.note, "the model cannot go further"));
}

TEST_CASE("by profile, an end that no fit reaches is undefined, not far outside") {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6}, y = {1.0, -0.5, 2.2, 1.9, 0.1, 0.6};
  const FitResult fit = curve_fit("b+0*x", x, y);
  const DerivedQuantity q = derive_by_profile("b+0*x", x, y, fit, {"q = b^5"})[0];
  CHECK(!(q.ci_low < -0.01));  // it is -0.00037 by the profile of b
  CHECK((std::isfinite(q.ci_low) || contains(q.note, "could not be followed")));
}

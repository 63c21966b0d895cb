// Tests the derivative checker. Right derivatives pass, wrong ones are named, others are counted as unclear.
#include "messages.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

using namespace nlsq;

namespace {

using Vector = std::vector<double>;

Vector decay(const Vector& p) {
  Vector r;
  for (int i = 0; i < 20; ++i) r.push_back(p[0] * std::exp(-p[1] * 0.3 * i) + p[2] - 1.0 / (1 + i));
  return r;
}
void decay_jacobian(std::span<const double> p, std::span<double> J) {
  for (std::size_t i = 0; i < 20; ++i) {
    const double t = 0.3 * static_cast<double>(i);
    J[3 * i] = std::exp(-p[1] * t);
    J[3 * i + 1] = -p[0] * t * J[3 * i];
    J[3 * i + 2] = 1;
  }
}

// Has two residuals of blocks of 2 and 3 numbers, with derivatives by hand, one of which may be made wrong.
class ByHand final : public BlockFunction {
 public:
  explicit ByHand(double spoilt = 0) : BlockFunction(2), spoilt_(spoilt) {}
  Derivatives derivatives_by() const override { return Derivatives::own; }
  const void* kind() const override {
    static const char tag = 0;
    return &tag;
  }
  bool value(const double* const* b, double* r) const override {
    r[0] = b[0][0] * b[1][2] + b[0][1];
    r[1] = std::sin(b[1][0]) * b[0][0] + b[1][1] * b[1][1];
    return true;
  }
  bool derivatives(const double* const* b, double* r, double* const* J) const override {
    value(b, r);
    const double a[4] = {b[1][2], 1, std::sin(b[1][0]), 0};
    const double c[6] = {0, 0, b[0][0], std::cos(b[1][0]) * b[0][0], 2 * b[1][1] + spoilt_, 0};
    if (J[0]) std::copy_n(a, 4, J[0]);
    if (J[1]) std::copy_n(c, 6, J[1]);
    return true;
  }

 private:
  double spoilt_;
};

}  // namespace

TEST_CASE("a Jacobian that is right passes, parameters of any size and zero among them") {
  for (const Vector& p : {Vector{2, 0.5, 0.1}, Vector{1e-6, 0.5, 1e6}, Vector{0, 0.5, 0}}) {
    const DerivativeCheck check = check_derivatives(decay, decay_jacobian, p);
    CAPTURE(check.report());
    CHECK(check.passed());
    CHECK(check.checked == 60);
  }
}

TEST_CASE("one wrong entry is found and named, down to the tolerance, and others are not blamed") {
  for (const double factor : {0.0, -1.0, 2.0, 1.001, 1.00001}) {
    const DerivativeCheck check = check_derivatives(decay,
                                                    [&](std::span<const double> p, std::span<double> J) {
                                                      decay_jacobian(p, J);
                                                      J[3 * 7 + 1] *= factor;
                                                    },
                                                    {2, 0.5, 0.1});
    CAPTURE(factor);
    REQUIRE(check.wrong.size() == 1);
    CHECK(check.wrong[0].residual == 7);
    CHECK(check.wrong[0].parameter == 1);
    CHECK(check.wrong[0].given == doctest::Approx(factor * check.wrong[0].difference).epsilon(1e-8));
    CHECK(contains(check.report(), "residual 7, parameter 1"));
    CHECK(contains(check.report(), "1 of 60"));
  }
}

TEST_CASE("an entry left out is wrong; a tolerance above the error passes it") {
  const auto left_out = [](std::span<const double> p, std::span<double> J) {
    std::vector<double> all(J.size());
    decay_jacobian(p, all);
    for (std::size_t i = 1; i < J.size(); ++i) J[i] = all[i];
  };
  const DerivativeCheck check = check_derivatives(decay, left_out, {2, 0.5, 0.1});
  REQUIRE(check.wrong.size() == 1);
  CHECK(std::isinf(check.wrong[0].relative()));
  const auto nearly = [](std::span<const double> p, std::span<double> J) {
    decay_jacobian(p, J);
    for (double& v : J) v *= 1.0001;
  };
  CHECK(check_derivatives(decay, nearly, {2, 0.5, 0.1}).wrong.size() == 59);  // t = 0: ∂r/∂p[1] = 0
  CHECK(check_derivatives(decay, nearly, {2, 0.5, 0.1}, 1e-3).passed());
}

TEST_CASE("kinks, edges of the domain and noise are unclear, not wrong; a slope outside a kink's is wrong") {
  const auto kink = [](const Vector& p) { return Vector{std::fabs(p[0] - 1), std::sqrt(p[0] - 1), p[0]}; };
  const auto slopes = [](double at_kink) {
    return [at_kink](std::span<const double>, std::span<double> J) { J[0] = at_kink, J[1] = 1, J[2] = 1; };
  };
  for (const double slope : {-1.0, 0.3, 1.0}) {
    const DerivativeCheck check = check_derivatives(kink, slopes(slope), {1.0});
    CHECK(check.passed());
    CHECK(check.unclear >= 2);
  }
  CHECK(check_derivatives(kink, slopes(1.1), {1.0}).wrong.size() == 1);
  const auto noisy = [](const Vector& p) {
    Vector r = decay(p);
    for (double& v : r) v += 1e-9 * std::sin(1e10 * (p[0] + p[1] + p[2] + v));
    return r;
  };
  const DerivativeCheck check = check_derivatives(noisy, decay_jacobian, {2, 0.5, 0.1});
  CAPTURE(check.report());
  CHECK(check.passed());
  CHECK(check.unclear > 10);
}

TEST_CASE("blocks of a problem: by hand and by dual numbers, constant ones left out, bounds kept") {
  double a[2] = {0.7, 1.2}, b[3] = {0.3, -0.8, 2};
  Problem problem;
  problem.add_residual_block(std::make_shared<ByHand>(), nullptr, std::array{BlockRef(a), BlockRef(b)});
  problem.add_residual_block<1>([](const auto* x, auto* r) { r[0] = x[0] * x[1]; }, nullptr, {a});
  problem.add_residual_block<1>([](const double* x, double* r) { r[0] = x[0]; }, nullptr, {a});
  DerivativeCheck check = check_derivatives(problem);
  CAPTURE(check.report());
  CHECK(check.passed());
  CHECK(check.checked == 12);
  CHECK(check.without == 1);

  problem.add_residual_block(std::make_shared<ByHand>(1e-4), nullptr, std::array{BlockRef(a), BlockRef(b)});
  check = check_derivatives(problem);
  REQUIRE(check.wrong.size() == 1);
  CHECK(contains(check.report(), "residual block 3, residual 1, parameter block 1, number 1"));
  problem.set_lower_bound(b, 1, -0.8);  // it is at its bound, so differences are to one side
  check = check_derivatives(problem);
  CHECK(check.wrong.size() == 1);
  CHECK(check.wrong[0].difference == doctest::Approx(-1.6).epsilon(1e-6));
  problem.set_constant(b);
  check = check_derivatives(problem);
  CHECK(check.passed());
  CHECK(check.checked == 10);
  CHECK(a[0] == 0.7);
}

TEST_CASE("a functor that hides a dependence from dual numbers is found") {
  double a[1] = {1.5};
  Problem problem;
  problem.add_residual_block<1>([](const auto* x, auto* r) { r[0] = x[0] * value_of(x[0]); }, nullptr, {a});
  const DerivativeCheck check = check_derivatives(problem);
  REQUIRE(check.wrong.size() == 1);
  CHECK(check.wrong[0].given == doctest::Approx(1.5));
  CHECK(check.wrong[0].difference == doctest::Approx(3));
}

TEST_CASE("a manifold whose derivative is another's") {
  class Wrong final : public Manifold {
   public:
    int ambient() const override { return 3; }
    int tangent() const override { return 2; }
    void plus(const double* x, const double* d, double* out) const override {
      sphere_manifold(3)->plus(x, d, out);
    }
    void plus_jacobian(const double* x, double* J) const override {
      sphere_manifold(3)->plus_jacobian(x, J);
      std::swap(J[0], J[2]);
    }
  };
  double x[3] = {0.6, 0.0, 0.8};
  CHECK(check_derivatives(*sphere_manifold(3), x).passed());
  CHECK(check_derivatives(*line_manifold(3), std::array{1.0, 2.0, 3.0, 0.0, 3.0, 4.0}).passed());
  CHECK(check_derivatives(Wrong(), x).wrong.size() == 2);
  Problem problem;
  problem.add_residual_block<1>([](const auto* v, auto* r) { r[0] = v[0] + 2.0 * v[1]; }, nullptr, {x});
  problem.set_manifold(x, std::make_shared<Wrong>());
  CHECK_FALSE(check_derivatives(problem).passed());
  problem.set_manifold(x, sphere_manifold(3));
  CHECK(check_derivatives(problem).passed());
}

// Rounding errors of a residual near 1 contradicted a derivative of 0, and the check failed.
TEST_CASE(
    "a derivative of 0 beside rounding errors is unclear, and beside large residuals a wrong one is wrong") {
  const auto cosine = [](const Vector& p) { return Vector{std::cos(p[0]) + 0.1 * std::sin(1e3 * p[1]) / 7}; };
  const auto given = [](double slope) {
    return [slope](std::span<const double> p, std::span<double> J) {
      J[0] = slope, J[1] = 100 * std::cos(1e3 * p[1]) / 7;
    };
  };
  CHECK(check_derivatives(cosine, given(-4e-16), Vector{0, 0.4}).wrong.empty());
  CHECK(check_derivatives(cosine, given(0), Vector{3.141592653589793, 0.4}).wrong.empty());
  CHECK(check_derivatives(cosine, given(0.1), Vector{0, 0.4}).wrong.size() == 1);
  const auto beside = [](const Vector& p) { return Vector{1e6, 0.01 * p[0] * p[0]}; };
  const auto of_square = [](double factor) {
    return
        [factor](std::span<const double> p, std::span<double> J) { J[0] = 0, J[1] = factor * 0.02 * p[0]; };
  };
  CHECK(check_derivatives(beside, of_square(1), Vector{1e-3}).wrong.empty());
  CHECK(check_derivatives(beside, of_square(0), Vector{1e-3}).wrong.size() == 1);
  CHECK(check_derivatives(beside, of_square(1.01), Vector{1e-3}).wrong.size() == 1);
}

TEST_CASE("bad input is refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(message_of([&] { check_derivatives(decay, decay_jacobian, {1, nan, 1}); }), "x[1]"));
  CHECK(contains(message_of([&] {
                   check_derivatives(decay, decay_jacobian, {1, 1, 1}, 0);
                 }),
                 "tolerance = 0"));
  CHECK(contains(message_of([&] { check_derivatives(decay, nullptr, {1, 1, 1}); }), "Jacobian"));
  CHECK(contains(message_of([&] { check_derivatives(*sphere_manifold(3), Vector{1, 2}); }), "3 ambient"));
}

TEST_CASE(
    "residuals in double, differenced by Ridders's method: more digits, the same minimum, bounds kept") {
  // This is Bard's function. The recorded callable gives the minimum.
  const auto bard = [](const auto& p) {
    using T = std::decay_t<decltype(p[0])>;
    static const double y[] = {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39,
                               0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39};
    std::vector<T> r;
    for (int i = 1; i <= 15; ++i) {
      const double u = i, v = 16 - i, w = std::min(u, v);
      r.push_back(y[i - 1] - (p[0] + u / (v * p[1] + w * p[2])));
    }
    return r;
  };
  const auto in_double = [&](const Vector& p) { return bard(p); };
  const LeastSquaresResult exact = least_squares(bard, {1, 1, 1});
  LeastSquaresOptions options;
  const auto distance = [&](Differences differences) {
    options.differences = differences;
    const LeastSquaresResult r = least_squares(in_double, {1, 1, 1}, options);
    CHECK(r.success());
    CHECK(r.summary.evaluator == "finite differences");
    double worst = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      worst = std::max(worst, std::fabs(r.standard_errors[j] / exact.standard_errors[j] - 1));
    }
    return worst;
  };
  const double central = distance(Differences::central), ridders = distance(Differences::ridders);
  CAPTURE(central);
  CAPTURE(ridders);
  CHECK(ridders < 1e-9);
  CHECK(ridders < central);
  options.bounds = {{0, 1.2, 0}, {0.1, 3, 3}};
  const auto watched = [&](const Vector& p) {
    CHECK((p[0] >= 0 && p[0] <= 0.1 && p[1] >= 1.2 && p[1] <= 3 && p[2] >= 0 && p[2] <= 3));
    return bard(p);
  };
  const LeastSquaresResult r = least_squares(watched, {0.1, 1.2, 1}, options);
  CHECK(r.success());
  CHECK(r.active_mask[1] == -1);
}

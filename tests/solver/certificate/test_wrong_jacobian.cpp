// Tests that a user's Jacobian is compared with differences of the residuals, and a wrong one is never
// certified.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace nlsq;

namespace {

constexpr std::size_t kRows = 60;
using Vector = std::vector<double>;

Vector times() {
  Vector t(kRows);
  for (std::size_t i = 0; i < kRows; ++i) t[i] = 0.05 * static_cast<double>(i);
  return t;
}

// a exp(-b t) + c with any scale of c's units.
struct Decay {
  double unit = 1, noise = 0.01;
  Vector t = times();
  Vector operator()(const Vector& p) const {
    Vector r(kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      const double y = 3 * std::exp(-0.8 * t[i]) + 1 + noise * std::sin(17 * t[i]);
      r[i] = p[0] * std::exp(-p[1] * t[i]) + p[2] * unit - y;
    }
    return r;
  }
  void jacobian(std::span<const double> p, std::span<double> J) const {
    for (std::size_t i = 0; i < kRows; ++i) {
      J[3 * i] = std::exp(-p[1] * t[i]);
      J[3 * i + 1] = -p[0] * t[i] * J[3 * i];
      J[3 * i + 2] = unit;
    }
  }
};

LeastSquaresResult fit(const Decay& decay, const std::function<void(std::span<double> J)>& spoil,
                       const Vector& start) {
  LeastSquaresOptions options;
  options.jacobian = [&](std::span<const double> p, std::span<double> J) {
    decay.jacobian(p, J);
    spoil(J);
  };
  return least_squares([&](const Vector& p) { return decay(p); }, start, options);
}

}  // namespace

TEST_CASE("a right Jacobian is certified, whatever the units of its columns") {
  for (const double unit : {1.0, 1e-12, 1e12}) {
    const LeastSquaresResult r = fit({unit}, [](auto) {}, {1, 1, 0.5 / unit});
    CHECK(r.success());
    CHECK(r.x[0] == doctest::Approx(3).epsilon(0.01));
  }
}

TEST_CASE(
    "a column that is zero, of the wrong sign, too large or another's is named and nothing is certified") {
  for (const double unit : {1.0, 1e-9, 1e9}) {
    for (std::size_t column = 0; column < 3; ++column) {
      for (const double factor : {0.0, -1.0, 2.0, 1.01, 0.999}) {
        const LeastSquaresResult r = fit({unit},
                                         [&](std::span<double> J) {
                                           for (std::size_t i = 0; i < kRows; ++i)
                                             J[3 * i + column] *= factor;
                                         },
                                         {2, 1, 0.5 / unit});
        CAPTURE(unit);
        CAPTURE(column);
        CAPTURE(factor);
        CAPTURE(r.summary.message);
        CHECK_FALSE(r.success());
        CHECK(r.summary.verdict == Verdict::failed);
        CHECK_FALSE(r.summary.certificate.passed);
        CHECK(r.summary.message.find("column " + std::to_string(column)) != std::string::npos);
      }
    }
  }
}

TEST_CASE("one wrong row is seen; a start at the optimum hides nothing") {
  const LeastSquaresResult good = fit({}, [](auto) {}, {1, 1, 0});
  const LeastSquaresResult r = fit(
      {}, [](std::span<double> J) { J[3 * 20 + 1] += 0.5; }, good.x);
  CHECK_FALSE(r.success());
  CHECK(r.summary.message.find("column 1") != std::string::npos);
  CHECK_FALSE(fit(
                  {},
                  [](std::span<double> J) {
                    for (std::size_t i = 0; i < kRows; ++i) J[3 * i] = 0;
                  },
                  good.x)
                  .success());
}

TEST_CASE(
    "zero parameters, kinks at the optimum, edges of the domain and residuals good to eight digits are no "
    "error of the Jacobian") {
  CHECK(fit({}, [](auto) {}, {0, 0.5, 0}).success());
  LeastSquaresOptions options;
  // This is |p - 1| at its kink, beside a line that pulls nowhere.
  options.jacobian = [](std::span<const double> p, std::span<double> J) {
    J[0] = p[0] > 1 ? 1 : -1, J[1] = 1, J[2] = 1;
  };
  const auto kink = [](const Vector& p) { return Vector{std::fabs(p[0] - 1), p[0] - 1, p[0] - 1}; };
  CHECK(least_squares(kink, {1.0}, options).success());
  // sqrt(p) at p = 0 has no value to the left.
  options.jacobian = [](std::span<const double>, std::span<double> J) { J[0] = 1, J[1] = 0, J[2] = 0; };
  const auto edge = [](const Vector& p) { return Vector{p[0], p[0] < 0 ? std::nan("") : 0.5, 1}; };
  CHECK(least_squares(edge, {0.0}, options).success());
  // A numerical integration gives residuals like these.
  Decay rough;
  const auto eight = [&](const Vector& p) {
    Vector r = rough(p);
    for (std::size_t i = 0; i < kRows; ++i)
      r[i] += 1e-8 * std::sin(1e9 * (p[0] + p[1] + p[2]) + static_cast<double>(i));
    return r;
  };
  options.jacobian = [&](std::span<const double> p, std::span<double> J) { rough.jacobian(p, J); };
  const LeastSquaresResult r = least_squares(eight, {1, 1, 0}, options);
  CHECK(r.summary.message.find("column") == std::string::npos);
}

TEST_CASE("the check of a right Jacobian costs two calls at the start and two at the end") {
  Decay decay;
  int calls = 0;
  LeastSquaresOptions options;
  options.jacobian = [&](std::span<const double> p, std::span<double> J) { decay.jacobian(p, J); };
  const LeastSquaresResult r = least_squares(
      [&](const Vector& p) {
        ++calls;
        return decay(p);
      },
      {1, 1, 0}, options);
  CHECK(r.success());
  CHECK(calls < 40);
}

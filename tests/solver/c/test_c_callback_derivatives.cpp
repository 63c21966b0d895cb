// Derivatives of callbacks by differences, and sums of their rows.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <nlsq/nlsq.hpp>

#include <algorithm>
#include <cmath>

using namespace nlsq_test;

namespace {

constexpr std::size_t n = 3, m = 60;

// offset + p0 exp(-p1 x) + p2 over 60 rows. Keeps the smallest and the largest p1 it was called with.
struct BesideOffset {
  double offset = 0, least = 1e300, most = -1e300;
  int calls = 0;
  static double x(std::size_t i) { return 0.1 * static_cast<double>(i); }
  static int call(const double* p, double* y, double*, void* user) {
    auto& self = *static_cast<BesideOffset*>(user);
    ++self.calls;
    self.least = std::min(self.least, p[1]);
    self.most = std::max(self.most, p[1]);
    for (std::size_t i = 0; i < m; ++i) y[i] = self.offset + p[0] * std::exp(-p[1] * x(i)) + p[2];
    return 0;
  }
};

struct Model {
  nlsq_model* handle = nullptr;
  Model(nlsq_function function, void* user, int has_jacobian = 0) {
    REQUIRE(nlsq_model_callback(function, user, has_jacobian, n, nullptr, &handle) == NLSQ_OK);
  }
  ~Model() { nlsq_model_free(handle); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
};

struct Derivatives {
  std::vector<double> values = std::vector<double>(m), J = std::vector<double>(m * n);
  double error = -1;
};

Derivatives differentiated(BesideOffset& function, const double* p, const nlsq_options* options = nullptr) {
  const Model model(BesideOffset::call, &function);
  Derivatives out;
  REQUIRE(nlsq_model_differentiate(model.handle, m, p, options, out.values.data(), out.J.data(),
                                   &out.error) == NLSQ_OK);
  return out;
}

// Returns the largest ‖error of column j‖ / ‖column j‖.
double largest_error(const std::vector<double>& J, const double* p) {
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < m; ++i) {
      const double e = std::exp(-p[1] * BesideOffset::x(i));
      const double exact = j == 0 ? e : j == 1 ? -p[0] * BesideOffset::x(i) * e : 1;
      errors += (J[n * i + j] - exact) * (J[n * i + j] - exact);
      squares += exact * exact;
    }
    largest = std::max(largest, std::sqrt(errors / squares));
  }
  return largest;
}

}  // namespace

TEST_CASE("derivatives of a callback have few errors, and say how large they are") {
  const double p[] = {3, 1.3, 0.7};
  for (const double offset : {0.0, 1e6, 1e9, 1e12}) {
    CAPTURE(offset);
    BesideOffset function{offset};
    const Derivatives found = differentiated(function, p);
    CHECK(found.values[0] == offset + 3 + 0.7);
    // The points of a usual difference are some 1e-5 apart, and those of an extrapolated one 1e-2. If
    // differences were not extrapolated, the estimate of the error contains the curvature of the model, too.
    const double rounding = 2e-16 * offset / (offset > 1e8 ? 1e-3 : 1e-6);
    CHECK(largest_error(found.J, p) < 1e-8 + rounding);
    CHECK(found.error >= 0);
    CHECK(found.error < 1e-5 + rounding);
    CHECK((offset > 1e11) == (found.error > 1e-3));
    CHECK(function.calls <= 1 + static_cast<int>(n) * (offset > 0 ? 40 : 2));
  }
}

TEST_CASE("steps respect bounds, and are in proportion to x_scale where a parameter is smaller") {
  const double p[] = {3, 1e-6, 0.7};
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  const double lower[] = {-INFINITY, 0, -INFINITY}, scale[] = {3, 1, 1};
  REQUIRE(nlsq_options_set_array(options, "lower", lower, n) == NLSQ_OK);
  REQUIRE(nlsq_options_set_array(options, "x_scale", scale, n) == NLSQ_OK);
  BesideOffset bounded, free;
  CHECK(largest_error(differentiated(bounded, p, options).J, p) < 1e-7);
  CHECK(bounded.least >= 0);
  CHECK(bounded.most > 1e-6 + 1e-6);
  // Without a scale, the step grows until it moves the values.
  CHECK(largest_error(differentiated(free, p).J, p) < 1e-7);
  CHECK(free.most > 1e-6 + 1e-11);
  BesideOffset unused;
  const Model model(BesideOffset::call, &unused);
  std::vector<double> values(m), J(m * n);
  double error = 0;
  const double outside[] = {3, -1, 0.7};
  const auto differentiate = [&](const nlsq_model* of, std::size_t rows, const double* at) {
    return nlsq_model_differentiate(of, rows, at, options, values.data(), J.data(), &error);
  };
  CHECK(differentiate(model.handle, m, outside) == NLSQ_ERROR_OPTION);
  CHECK(differentiate(model.handle, 0, p) == NLSQ_ERROR_ARGUMENT);
  CHECK(differentiate(model.handle, m, nullptr) == NLSQ_ERROR_ARGUMENT);
  nlsq_model* formula = nullptr;
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &formula) == NLSQ_OK);
  CHECK(differentiate(formula, m, p) == NLSQ_ERROR_ARGUMENT);
  nlsq_model_free(formula);
  nlsq_options_free(options);
}

TEST_CASE("derivatives by a tiny number are found, and bounds without room are errors") {
  BesideOffset function;
  for (const double tiny : {1e-12, -1e-14, 1e-20, 1e-300}) {
    CAPTURE(tiny);
    const double p[] = {tiny, 0.8, 1};
    const Derivatives found = differentiated(function, p);
    for (std::size_t i = 0; i < m; ++i)
      CHECK(found.J[n * i] == doctest::Approx(std::exp(-0.8 * BesideOffset::x(i))).epsilon(1e-6));
  }
  const double p[] = {0.5, 0.8, 1};
  for (const double room : {1e-12, 1e-14, 0.0}) {
    CAPTURE(room);
    const double lower[] = {0.5 - room, 0, 0}, upper[] = {0.5 + room, 2, 2};
    nlsq_options* options = nullptr;
    REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
    REQUIRE(nlsq_options_set_array(options, "lower", lower, 3) == NLSQ_OK);
    REQUIRE(nlsq_options_set_array(options, "upper", upper, 3) == NLSQ_OK);
    const Derivatives found = differentiated(function, p, options);
    CHECK(found.error > (room > 0 ? 1e-16 / room : 1e300));
    nlsq_options_free(options);
  }
}

TEST_CASE("the sums of a callback are those of the formula") {
  const Decay data(100);
  const double p[] = {2.5, 1.1, 0.5};
  const nlsq_column x = data.cx(), y = data.cy();
  std::vector<double> sigma(100, 0.1);
  for (std::size_t i = 0; i < 100; i += 3) sigma[i] = 0.3;
  const nlsq_column errors = nlsq_column_of(sigma.data(), sigma.size());
  for (const bool weighted : {false, true}) {
    for (const int has_jacobian : {0, 1}) {
      nlsq_options* options = nullptr;
      REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
      if (weighted) REQUIRE(nlsq_options_set_column(options, "sigma", &errors) == NLSQ_OK);
      DecayCallback user{&data};
      const Model callback(DecayCallback::call, &user, has_jacobian);
      nlsq_model* formula = nullptr;
      REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &formula) == NLSQ_OK);
      std::vector<double> own(nlsq_sums_size(n)), wanted(own.size());
      REQUIRE(nlsq_model_sums(callback.handle, nullptr, 0, &y, p, options, own.data()) == NLSQ_OK);
      REQUIRE(nlsq_model_sums(formula, &x, 1, &y, p, options, wanted.data()) == NLSQ_OK);
      const double digits = has_jacobian != 0 ? 1e-13 : 1e-8;
      CHECK(own[0] == wanted[0]);
      CHECK(own[1] == doctest::Approx(wanted[1]).epsilon(1e-13));
      for (std::size_t k = own.size() - 6; k < own.size(); ++k)
        CHECK(own[k] == doctest::Approx(wanted[k]).epsilon(digits));
      CHECK(user.elsewhere == 0);
      CHECK(user.calls <= 10);
      nlsq_model_free(formula);
      nlsq_options_free(options);
    }
  }
}

TEST_CASE("a fit from sums of a callback beside an offset has the right standard errors") {
  BesideOffset function{3e9}, without;
  const double truth[] = {3, 1.3, 0.7};
  std::vector<double> y(m);
  BesideOffset::call(truth, y.data(), nullptr, &without);
  for (std::size_t i = 0; i < m; ++i) y[i] += 3e9 + 0.02 * std::sin(37.0 * static_cast<double>(i));
  const nlsq_column column = nlsq_column_of(y.data(), m);
  const Model model(BesideOffset::call, &function);
  std::vector<double> points{2.5, 1, 1}, sums, part(nlsq_sums_size(n));
  nlsq_result* result = nullptr;
  for (std::size_t pass = 1; result == nullptr && pass < 50; ++pass) {
    REQUIRE(nlsq_model_sums(model.handle, nullptr, 0, &column, &points[n * (pass - 1)], nullptr,
                            part.data()) == NLSQ_OK);
    sums.insert(sums.end(), part.begin(), part.end());
    points.resize(n * (pass + 1));
    REQUIRE(nlsq_solve_sums(points.data(), sums.data(), pass, n, nullptr, &points[n * pass], &result) ==
            NLSQ_OK);
  }
  REQUIRE(result != nullptr);
  CHECK(number(result, "success") == 1);
  nlsq_model* formula = nullptr;
  nlsq_result* exact = nullptr;
  REQUIRE(nlsq_model_text("3e9 + a*exp(-b*x) + c", nullptr, 1, &formula) == NLSQ_OK);
  std::vector<double> x;
  for (std::size_t i = 0; i < m; ++i) x.push_back(BesideOffset::x(i));
  const nlsq_column cx = nlsq_column_of(x.data(), m);
  REQUIRE(nlsq_model_fit(formula, &cx, 1, &column, truth, nullptr, &exact) == NLSQ_OK);
  const std::vector<double> ours = array(result, "std_errors"), right = array(exact, "std_errors");
  for (std::size_t j = 0; j < n; ++j) CHECK(ours[j] == doctest::Approx(right[j]).epsilon(0.01));
  nlsq_result_free(exact);
  nlsq_result_free(result);
  nlsq_model_free(formula);
}

// Tests residual functions, batches and problems through the C interface.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <nlsq/nlsq.hpp>

#include <limits>
#include <random>

using namespace nlsq_test;

namespace {

// Computes Rosenbrock's function. `user` points at a code to return, or is NULL.
int rosenbrock(const double* x, double* r, double* J, void* user) {
  r[0] = 10 * (x[1] - x[0] * x[0]);
  r[1] = 1 - x[0];
  if (J != nullptr) {
    J[0] = -20 * x[0];
    J[1] = 10;
    J[2] = -1;
    J[3] = 0;
  }
  return user == nullptr ? 0 : *static_cast<int*>(user);
}

// Holds seventy noisy decays. The array has room for 50 values of each, of which 40 are data, so it needs a
// stride.
struct Many {
  static constexpr std::size_t fits = 70, rows = 40, stride = 50;
  std::vector<double> x, y;
  Many() : x(rows), y(fits * stride, -1) {
    std::mt19937 random(7);
    for (std::size_t i = 0; i < rows; ++i) x[i] = 0.1 * static_cast<double>(i);
    for (std::size_t f = 0; f < fits; ++f) {
      for (std::size_t i = 0; i < rows; ++i)
        y[f * stride + i] = 3 * std::exp(-(1 + 0.01 * static_cast<double>(f)) * x[i]) + 0.5 +
                            1e-3 * (static_cast<double>(random()) / 4e9 - 0.5);
    }
  }
  nlsq_batch_column cx() const { return {nlsq_column_of(x.data(), rows), 0}; }
  nlsq_batch_column cy() const {
    return {nlsq_column_of(y.data(), rows), static_cast<std::ptrdiff_t>(stride * sizeof(double))};
  }
};

// Returns a tape with the residuals p0*exp(-p1*t) + p2 - y of columns t, y.
nlsq_tape* residual_tape() {
  nlsq_tape* tape = nullptr;
  REQUIRE(nlsq_tape_new(&tape) == NLSQ_OK);
  REQUIRE(nlsq_tape_output(tape, operation(tape, "-", {decay_nodes(tape), column(tape, 1)})) == NLSQ_OK);
  return tape;
}

}  // namespace

TEST_CASE(
    "nlsq_least_squares solves with derivatives and without, within bounds, under a loss, in other scales") {
  const double start[] = {-1.2, 1};
  nlsq_options* o = nullptr;
  REQUIRE(nlsq_options_new(&o) == NLSQ_OK);
  nlsq_result* result = nullptr;
  for (const int has_jacobian : {0, 1}) {
    REQUIRE(nlsq_least_squares(rosenbrock, nullptr, has_jacobian, 2, start, 2, o, &result) == NLSQ_OK);
    CHECK(array(result, "parameters")[0] == doctest::Approx(1).epsilon(1e-8));
    CHECK(number(result, "success") == 1);
    CHECK(array(result, "jacobian").size() == (has_jacobian == 1 ? 4 : 0));
    nlsq_result_free(result);
  }
  const double upper[] = {0.5, std::numeric_limits<double>::infinity()};
  REQUIRE(nlsq_options_set_array(o, "upper", upper, 2) == NLSQ_OK);
  const double scale[] = {1e-3, 1e3};
  std::vector<std::vector<double>> found;
  for (const std::size_t scaled : {0u, 2u}) {
    REQUIRE(nlsq_options_set_array(o, "x_scale", scale, scaled) == NLSQ_OK);
    REQUIRE(nlsq_least_squares(rosenbrock, nullptr, 1, 2, start, 2, o, &result) == NLSQ_OK);
    const std::vector<double> x = array(result, "parameters");
    CHECK(x[0] == doctest::Approx(0.5));
    CHECK(x[1] == doctest::Approx(0.25));
    CHECK(array(result, "active_mask") == std::vector<double>{1, 0});
    CHECK(array(result, "jacobian")[0] == doctest::Approx(-20 * x[0]));
    nlsq_result_free(result);
  }
  int code = 3;
  CHECK(nlsq_least_squares(rosenbrock, &code, 0, 2, start, 2, nullptr, &result) == NLSQ_ERROR_CALLBACK);
  REQUIRE(nlsq_options_set(o, "fix", "a") == NLSQ_OK);
  CHECK(nlsq_least_squares(rosenbrock, nullptr, 0, 2, start, 2, o, &result) == NLSQ_ERROR_OPTION);
  nlsq_options_free(o);
}

TEST_CASE("the covariance of a scaled residual function is that of the plain one") {
  const Decay data;
  struct Line {
    static int call(const double* p, double* r, double* J, void* user) {
      const auto& d = *static_cast<const Decay*>(user);
      for (std::size_t i = 0; i < d.x.size(); ++i) {
        r[i] = p[0] + p[1] * d.x[i] - d.y[i];
        if (J == nullptr) continue;
        J[2 * i] = 1;
        J[2 * i + 1] = d.x[i];
      }
      return 0;
    }
  };
  nlsq_options* o = nullptr;
  REQUIRE(nlsq_options_new(&o) == NLSQ_OK);
  std::vector<double> covariance[2];
  const double start[] = {0, 0}, scale[] = {100, 0.01};
  for (const std::size_t k : {0u, 1u}) {
    REQUIRE(nlsq_options_set_array(o, "x_scale", scale, 2 * k) == NLSQ_OK);
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_least_squares(Line::call, const_cast<Decay*>(&data), 1, 100, start, 2, o, &result) ==
            NLSQ_OK);
    covariance[k] = array(result, "covariance");
    nlsq_result_free(result);
  }
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(covariance[1][k] == doctest::Approx(covariance[0][k]).epsilon(1e-9));
  nlsq_options_free(o);
}

TEST_CASE("a batch gives the bits of the C++ batch, for columns with strides") {
  const Many many;
  const nlsq_batch_column x = many.cx(), y = many.cy();
  const double p0[] = {1, 1, 1};
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_curve_fit_batch(kDecayFormula, &x, 1, &y, Many::fits, p0, 1, nullptr, &result) == NLSQ_OK);
  nlsq::Matrix Y(Many::fits, Many::rows), P0(1, 3, 1.0);
  for (std::size_t f = 0; f < Many::fits; ++f) {
    for (std::size_t i = 0; i < Many::rows; ++i) Y(f, i) = many.y[f * Many::stride + i];
  }
  const nlsq::BatchResult batch = nlsq::curve_fit_batch(nlsq::PreparedModel(kDecayFormula), many.x, Y, P0);
  const std::vector<double> p = array(result, "parameters");
  REQUIRE(p.size() == 3 * Many::fits);
  for (std::size_t k = 0; k < p.size(); ++k) CHECK(p[k] == batch.parameters.data()[k]);
  CHECK(number(result, "certified") == static_cast<double>(Many::fits));
  CHECK(number(result, "in_lanes") == static_cast<double>(batch.in_lanes));
  CHECK(array(result, "success") == std::vector<double>(Many::fits, 1));
  nlsq_result_free(result);
}

TEST_CASE("a batch leaves out masked rows, guesses by a built-in model, and fails single fits alone") {
  Many many;
  std::vector<unsigned char> mask(Many::fits * Many::rows, 0);
  for (std::size_t f = 0; f < Many::fits; ++f) {
    mask[f * Many::rows + f % Many::rows] = 1;
    many.y[f * Many::stride + f % Many::rows] = std::nan("");
  }
  many.y[3 * Many::stride + 20] = std::nan("");  // fit 3 has a wrong number in a row that is used
  const nlsq_batch_column x = many.cx(), y = many.cy();
  const nlsq_batch_column left_out{{mask.data(), NLSQ_U8, 1, Many::rows},
                                   static_cast<std::ptrdiff_t>(Many::rows)};
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("exp", nullptr, 1, &model) == NLSQ_OK);
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_model_fit_batch(model, &x, 1, &y, nullptr, &left_out, Many::fits, nullptr, 0, nullptr,
                               &result) == NLSQ_OK);
  CHECK(number(result, "certified") == static_cast<double>(Many::fits - 1));
  CHECK(array(result, "verdict")[3] == NLSQ_FAILED);
  CHECK(array(result, "parameters")[3 * 10 + 1] == doctest::Approx(1.1).epsilon(0.01));
  CHECK(text(result, "messages") ==
        "fit 3: y has 1 value(s) that are not finite; the first is nan in row 19: correct or leave out such "
        "rows (rows are counted without those that the mask leaves out)");
  nlsq_result_free(result);
  CHECK(nlsq_model_fit_batch(model, &x, 1, &y, nullptr, nullptr, Many::fits, nullptr, 2, nullptr, &result) ==
        NLSQ_ERROR_ARGUMENT);
  nlsq_model_free(model);
}

TEST_CASE("a problem of a tape and one of callbacks find the fit of the curve") {
  const Decay data;
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, data.x, data.y, {{"a", 1}, {"b", 1}, {"c", 1}});
  for (const int kind : {0, 1, 2}) {  // tape, callback, callback with derivatives
    CAPTURE(kind);
    nlsq_problem* problem = nullptr;
    REQUIRE(nlsq_problem_new(&problem) == NLSQ_OK);
    double ab[2] = {1, 1}, c[1] = {0};
    REQUIRE(nlsq_problem_add_parameters(problem, ab, 2) == NLSQ_OK);
    REQUIRE(nlsq_problem_add_parameters(problem, c, 1) == NLSQ_OK);
    std::vector<double*> blocks;
    for (std::size_t i = 0; i < data.x.size(); ++i) blocks.insert(blocks.end(), {ab, c});
    struct Row {
      double x, y;
      static int call(const double* const* b, double* r, double* const* J, void* user) {
        const auto& row = *static_cast<const Row*>(user);
        const double e = std::exp(-b[0][1] * row.x);
        r[0] = b[0][0] * e + b[1][0] - row.y;
        if (J != nullptr && J[0] != nullptr) {
          J[0][0] = e;
          J[0][1] = -b[0][0] * row.x * e;
        }
        if (J != nullptr && J[1] != nullptr) J[1][0] = 1;
        return 0;
      }
    };
    std::vector<Row> rows;
    for (std::size_t i = 0; i < data.x.size(); ++i) rows.push_back({data.x[i], data.y[i]});
    if (kind == 0) {
      nlsq_tape* tape = residual_tape();
      const nlsq_column columns[] = {data.cx(), data.cy()};
      CHECK(nlsq_problem_add_tape(problem, tape, columns, 1, 100, nullptr, 1, blocks.data(), 2) ==
            NLSQ_ERROR_MODEL);
      REQUIRE(nlsq_problem_add_tape(problem, tape, columns, 2, 100, nullptr, 1, blocks.data(), 2) == NLSQ_OK);
      nlsq_tape_free(tape);
    } else {
      for (Row& row : rows)
        REQUIRE(nlsq_problem_add_callback(problem, Row::call, &row, kind == 2, 1, nullptr, 1, blocks.data(),
                                          2) == NLSQ_OK);
    }
    std::size_t sizes[4] = {};
    REQUIRE(nlsq_problem_size(problem, sizes, sizes + 1, sizes + 2, sizes + 3) == NLSQ_OK);
    CHECK(sizes[1] == 100);
    CHECK(sizes[3] == 3);
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_problem_solve(problem, nullptr, &result) == NLSQ_OK);
    CHECK(number(result, "success") == 1);
    CHECK(ab[1] == doctest::Approx(fit.parameters[1]).epsilon(1e-7));
    CHECK(number(result, "cost") == doctest::Approx(fit.summary.final_cost));
    double cost = 0;
    std::vector<double> residuals(100), covariance(9);
    REQUIRE(nlsq_problem_evaluate(problem, &cost, residuals.data(), 100) == NLSQ_OK);
    CHECK(cost == doctest::Approx(fit.summary.final_cost));
    CHECK(nlsq_problem_evaluate(problem, &cost, residuals.data(), 99) == NLSQ_ERROR_ARGUMENT);
    double* const both[] = {ab, c};
    REQUIRE(nlsq_problem_covariance(problem, both, 2, covariance.data(), 9) == NLSQ_OK);
    CHECK(covariance[4] * fit.chi2_reduced == doctest::Approx(fit.covariance(1, 1)).epsilon(1e-5));
    CHECK(nlsq_problem_covariance(problem, both, 2, covariance.data(), 8) == NLSQ_ERROR_ARGUMENT);
    nlsq_result_free(result);
    nlsq_problem_free(problem);
  }
}

TEST_CASE("a problem has constant blocks, bounds, manifolds and losses") {
  nlsq_problem* problem = nullptr;
  REQUIRE(nlsq_problem_new(&problem) == NLSQ_OK);
  const Decay data;
  double ab[2] = {1, 1}, c[1] = {0.6}, q[7] = {1, 0, 0, 0, 0, 0, 0};
  REQUIRE(nlsq_problem_add_parameters(problem, ab, 2) == NLSQ_OK);
  REQUIRE(nlsq_problem_add_parameters(problem, c, 1) == NLSQ_OK);
  REQUIRE(nlsq_problem_add_parameters(problem, q, 7) == NLSQ_OK);
  CHECK(nlsq_problem_set_constant(problem, c, 1) == NLSQ_OK);
  const double lower[] = {0, 0}, upper[] = {2.5, 10};
  CHECK(nlsq_problem_set_bounds(problem, ab, lower, upper) == NLSQ_OK);
  CHECK(nlsq_problem_set_manifold(problem, q, "quaternion + euclidean 3") == NLSQ_OK);
  CHECK(nlsq_problem_set_manifold(problem, q, "quaternion") == NLSQ_ERROR_OPTION);
  CHECK(nlsq_problem_set_manifold(problem, q, "subset 7: 0, 2") == NLSQ_OK);
  CHECK(nlsq_problem_set_manifold(problem, q, "subset 7: 9") == NLSQ_ERROR_OPTION);
  CHECK(nlsq_problem_set_manifold(problem, q, "banana") == NLSQ_ERROR_OPTION);
  CHECK(nlsq_problem_set_manifold(problem, q, nullptr) == NLSQ_OK);
  double stranger[1] = {0};
  CHECK(nlsq_problem_set_constant(problem, stranger, 1) == NLSQ_ERROR_ARGUMENT);
  nlsq_tape* tape = residual_tape();
  std::vector<double*> blocks;
  for (std::size_t i = 0; i < data.x.size(); ++i) blocks.insert(blocks.end(), {ab, c});
  const nlsq_column columns[] = {data.cx(), data.cy()};
  CHECK(nlsq_problem_add_tape(problem, tape, columns, 2, 100, "hubert", 1, blocks.data(), 2) ==
        NLSQ_ERROR_OPTION);
  REQUIRE(nlsq_problem_add_tape(problem, tape, columns, 2, 100, "huber", 0.05, blocks.data(), 2) == NLSQ_OK);
  nlsq_tape_free(tape);
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_problem_solve(problem, nullptr, &result) == NLSQ_OK);
  CHECK(ab[0] == 2.5);
  CHECK(c[0] == 0.6);
  nlsq_result_free(result);
  // A callback that stops leaves the blocks as they were.
  const auto stop = [](const double* const*, double*, double* const*, void*) { return 9; };
  double* const one[] = {ab};
  REQUIRE(nlsq_problem_add_callback(problem, stop, nullptr, 0, 1, nullptr, 1, one, 1) == NLSQ_OK);
  ab[0] = 2;
  CHECK(nlsq_problem_solve(problem, nullptr, &result) == NLSQ_ERROR_CALLBACK);
  CHECK(ab[0] == 2);
  nlsq_problem_free(problem);
}

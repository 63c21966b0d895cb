// Tests mistakes of callers that the C interface must name, and fits that go on in spite of a mistake.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace nlsq_test;

TEST_CASE("a fit of too few rows fails alone, and the batch says which and why") {
  constexpr std::size_t fits = 3, rows = 10;
  std::vector<double> x(rows), y(fits * rows);
  for (std::size_t i = 0; i < fits * rows; ++i) {
    x[i % rows] = 0.3 * static_cast<double>(i % rows);
    // Exact data would have a warning of their own.
    y[i] = 2 * std::exp(-0.7 * x[i % rows]) + 0.5 + 1e-6 * std::sin(7.0 * static_cast<double>(i));
  }
  const nlsq_batch_column cx{nlsq_column_of(x.data(), rows), 0};
  const nlsq_batch_column cy{nlsq_column_of(y.data(), rows), rows * sizeof(double)};
  for (const std::size_t left : {std::size_t{0}, std::size_t{2}}) {  // the rows of fit 1
    for (const char* model : {kDecayFormula, "exp"}) {
      CAPTURE(left);
      CAPTURE(model);
      std::vector<unsigned char> mask(fits * rows, 0);
      for (std::size_t i = left; i < rows; ++i) mask[rows + i] = 1;
      const nlsq_batch_column out{{mask.data(), NLSQ_U8, 1, rows}, rows};
      const double p0[] = {1, 1, 0};
      nlsq_model* handle = nullptr;
      nlsq_result* result = nullptr;
      REQUIRE(nlsq_model_text(model, nullptr, 1, &handle) == NLSQ_OK);
      const std::size_t given = model == kDecayFormula ? 1 : 0;  // the built-in model guesses
      REQUIRE(nlsq_model_fit_batch(handle, &cx, 1, &cy, nullptr, &out, fits, given ? p0 : nullptr, given,
                                   nullptr, &result) == NLSQ_OK);
      CHECK(array(result, "success") == std::vector<double>{1, 0, 1});
      CHECK(array(result, "verdict")[1] == NLSQ_FAILED);
      CHECK(array(result, "parameters")[0] == doctest::Approx(2).epsilon(1e-5));
      CHECK(text(result, "messages") == text(result, "warnings"));
      CHECK(text(result, "warnings") ==
            "fit 1: " + std::to_string(left) +
                " rows cannot determine 3 parameters: give more rows or fix parameters");
      nlsq_result_free(result);
      nlsq_model_free(handle);
    }
  }
}

TEST_CASE("a formula that adds names is no sum of models, and one without a predictor is told of") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_curve_fit("a+0*x", &x, 1, &y, "", nullptr, &result) == NLSQ_OK);
  CHECK(text(result, "verdict") == "CONVERGED");
  CHECK(text(result, "warnings").empty());
  nlsq_result_free(result);
  REQUIRE(nlsq_curve_fit("3*lorentzan", &x, 1, &y, "", nullptr, &result) == NLSQ_OK);
  CHECK(text(result, "warnings").find("3*lorentzan names no predictor (x) and no built-in model") !=
        std::string::npos);
  nlsq_result_free(result);
  CHECK(nlsq_curve_fit("gaussian + x", &x, 1, &y, "", nullptr, &result) == NLSQ_ERROR_MODEL);
}

TEST_CASE(
    "ties, several starts and fixed parameters of a batch are those of a fit; starts are named by fit") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  const nlsq_batch_column many_x{x, 0}, many_y{y, 0};  // both fits share y
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const double free[] = {1, 1, nan}, tied[] = {1, 1, 1}, wrong[] = {1, 1, 1, 1, infinity, 1};
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
  const auto same_as_one = [&](const char* option, const char* value, const double* p0) {
    CAPTURE(option);
    nlsq_options* options = nullptr;
    nlsq_result *one = nullptr, *many = nullptr;
    REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
    REQUIRE(nlsq_options_set(options, option, value) == NLSQ_OK);
    REQUIRE(nlsq_model_fit(model, &x, 1, &y, p0, options, &one) == NLSQ_OK);
    REQUIRE(nlsq_model_fit_batch(model, &many_x, 1, &many_y, nullptr, nullptr, 2, p0, 1, options, &many) ==
            NLSQ_OK);
    const std::vector<double> of_one = array(one, "parameters"), of_many = array(many, "parameters");
    for (std::size_t j = 0; j < 3; ++j) CHECK(of_many[3 + j] == doctest::Approx(of_one[j]).epsilon(1e-9));
    CHECK(array(many, "success") == std::vector<double>(2, number(one, "success")));
    nlsq_result_free(one);
    nlsq_result_free(many);
    nlsq_options_free(options);
  };
  same_as_one("tie", "c = a/4", free);
  same_as_one("starts", "3", tied);
  same_as_one("fix", "a,b,c", tied);
  nlsq_options* options = nullptr;
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  REQUIRE(nlsq_options_set(options, "tie", "c = a/4") == NLSQ_OK);
  CHECK(nlsq_model_fit_batch(model, &many_x, 1, &many_y, nullptr, nullptr, 2, tied, 1, options, &result) ==
        NLSQ_ERROR_OPTION);
  CHECK(std::string(nlsq_last_error()).find("'c' is tied (c = a/4)") != std::string::npos);
  CHECK(nlsq_model_fit_batch(model, &many_x, 1, &many_y, nullptr, nullptr, 2, wrong, 2, nullptr, &result) ==
        NLSQ_ERROR_OPTION);
  CHECK(std::string(nlsq_last_error()).find("P0 of fit 1: b = inf is not finite") != std::string::npos);
  nlsq_options_free(options);
  nlsq_model_free(model);
}

TEST_CASE("without starting values, a batch starts where a fit of one curve does, and doubts the same ends") {
  constexpr std::size_t rows = 30;
  std::vector<double> x(rows), y(rows);
  struct Case {
    const char *formula, *bounds;
    double t;  // the value with which the data are made
    bool success;
  };
  for (const Case& c : {Case{"a*sin(t*x)/(1+x)", "t=2:5", 3.4, true},
                        // No x is below 1, where t begins, so the data say nothing about it.
                        Case{"if(x<t, a*x, a*t+b*(x-t))", "", 0, false}}) {
    CAPTURE(c.formula);
    for (std::size_t i = 0; i < rows; ++i) {
      x[i] = 1.5 + 0.3 * static_cast<double>(i);
      y[i] = c.success ? 2 * std::sin(c.t * x[i]) / (1 + x[i]) : 3 + 0.5 * x[i] + 0.1 * std::sin(77.0 * x[i]);
    }
    const nlsq_batch_column cx{nlsq_column_of(x.data(), rows), 0}, cy{nlsq_column_of(y.data(), rows), 0};
    nlsq_model* model = nullptr;
    nlsq_options* options = nullptr;
    nlsq_result *one = nullptr, *many = nullptr;
    REQUIRE(nlsq_model_text(c.formula, nullptr, 1, &model) == NLSQ_OK);
    REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
    REQUIRE(nlsq_options_set(options, "in_lanes", "false") == NLSQ_OK);
    if (*c.bounds) REQUIRE(nlsq_options_set(options, "bounds", c.bounds) == NLSQ_OK);
    REQUIRE(nlsq_model_fit(model, &cx.column, 1, &cy.column, nullptr, options, &one) == NLSQ_OK);
    const double none[] = {std::nan(""), std::nan(""), std::nan(""),
                           std::nan(""), std::nan(""), std::nan("")};
    for (const std::size_t given : {0, 1, 2}) {
      REQUIRE(nlsq_model_fit_batch(model, &cx, 1, &cy, nullptr, nullptr, 2, given ? none : nullptr, given,
                                   options, &many) == NLSQ_OK);
      for (const std::size_t f : {0, 1}) {
        CHECK(array(many, "success")[f] == number(one, "success"));
        CHECK(array(many, "cost")[f] == number(one, "cost"));
        CHECK(array(many, "iterations")[f] == number(one, "iterations"));
      }
      nlsq_result_free(many);
    }
    CHECK(number(one, "success") == c.success);
    nlsq_result_free(one);
    nlsq_options_free(options);
    nlsq_model_free(model);
  }
}

namespace {

struct Watched {
  double most = -1;
  static int call(const double* p, double* r, double* J, void* user) {
    auto& self = *static_cast<Watched*>(user);
    self.most = std::max(self.most, p[0]);
    r[0] = p[0] - 10;
    r[1] = 0.1;
    if (J != nullptr) J[0] = 1, J[1] = 0;
    return 0;
  }
};

}  // namespace

TEST_CASE("no parameter of nlsq_least_squares passes its bound by rounding, whatever x_scale is") {
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  int rounded = 0;
  for (int k = 1; k <= 60; ++k) {
    const double upper = 0.1 * k, scale = 1.0 / (k + 6), start = 0;
    rounded += upper / scale * scale > upper ? 1 : 0;
    REQUIRE(nlsq_options_set_array(options, "upper", &upper, 1) == NLSQ_OK);
    REQUIRE(nlsq_options_set_array(options, "x_scale", &scale, 1) == NLSQ_OK);
    Watched watched;
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_least_squares(Watched::call, &watched, 1, 2, &start, 1, options, &result) == NLSQ_OK);
    CHECK(array(result, "parameters")[0] == upper);
    CHECK(watched.most <= upper);
    nlsq_result_free(result);
  }
  CHECK(rounded > 0);  // otherwise the test could not fail
  nlsq_options_free(options);
}

TEST_CASE("a prediction is refused for the result of another model with the same names") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_model *model = nullptr, *other = nullptr, *same = nullptr;
  nlsq_result *fit = nullptr, *prediction = nullptr;
  const double p0[] = {1, 1, 1};
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &same) == NLSQ_OK);
  REQUIRE(nlsq_model_text("a+b*x+c*x^2", nullptr, 1, &other) == NLSQ_OK);
  REQUIRE(nlsq_model_fit(model, &x, 1, &y, p0, nullptr, &fit) == NLSQ_OK);
  CHECK(nlsq_model_predict(other, &x, 1, fit, nullptr, &prediction) == NLSQ_ERROR_ARGUMENT);
  CHECK(std::string(nlsq_last_error()).find("give the model that was fitted") != std::string::npos);
  REQUIRE(nlsq_model_predict(same, &x, 1, fit, nullptr, &prediction) == NLSQ_OK);
  nlsq_result_free(prediction);
  nlsq_result_free(fit);
  for (nlsq_model* one : {model, other, same}) nlsq_model_free(one);
}

TEST_CASE("names that are none are refused") {
  nlsq_model* model = nullptr;
  for (const char* name : {"", "1x", "a b", "x\xff", "t-1"}) {
    CAPTURE(name);
    CHECK(nlsq_model_text("a+0.5", &name, 1, &model) == NLSQ_ERROR_MODEL);
    CHECK(std::string(nlsq_last_error()).find("predictor 0") == 0);
  }
  const char* twice[] = {"u", "u"};
  CHECK(nlsq_model_text("a*u", twice, 2, &model) == NLSQ_ERROR_MODEL);
  const auto zero = [](const double*, double* y, double*, void*) { return y == nullptr ? 0 : (*y = 0, 0); };
  for (const char* name : {"", "a\xff", "a\nb"})
    CHECK(nlsq_model_callback(zero, nullptr, 0, 1, &name, &model) == NLSQ_ERROR_MODEL);
  const char* greek = "γ";  // Python has such names
  REQUIRE(nlsq_model_callback(zero, nullptr, 0, 1, &greek, &model) == NLSQ_OK);
  nlsq_model_free(model);
}

TEST_CASE("a negative initial damping and blocks that overlap are refused") {
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  CHECK(nlsq_options_set_number(options, "initial_lambda", -1) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_options_set_number(options, "initial_lambda", 0) == NLSQ_OK);  // as in C++
  CHECK(nlsq_options_set_number(options, "initial_lambda", 1e-6) == NLSQ_OK);
  nlsq_options_free(options);
  nlsq_problem* problem = nullptr;
  REQUIRE(nlsq_problem_new(&problem) == NLSQ_OK);
  std::vector<double> numbers(10);
  double* const p = numbers.data();
  REQUIRE(nlsq_problem_add_parameters(problem, p + 3, 3) == NLSQ_OK);
  for (const auto& [first, size] : {std::pair{0, 4}, {4, 1}, {5, 3}, {2, 6}, {0, 10}}) {
    const int number = first;
    CAPTURE(number);
    CHECK(nlsq_problem_add_parameters(problem, p + first, static_cast<std::size_t>(size)) ==
          NLSQ_ERROR_ARGUMENT);
    CHECK(std::string(nlsq_last_error()).find("must not overlap") != std::string::npos);
  }
  CHECK(nlsq_problem_add_parameters(problem, p, 3) == NLSQ_OK);
  CHECK(nlsq_problem_add_parameters(problem, p + 6, 4) == NLSQ_OK);
  nlsq_problem_free(problem);
}

TEST_CASE("a prediction is refused for another tape of the same length and names") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  // The model is p0 exp(-p1 x) + p2, and `last` times a sum that doubles in every step: too long for a
  // formula.
  const auto model_of = [](double last) {
    nlsq_tape* tape = nullptr;
    nlsq_tape_new(&tape);
    int factor = -1, sum = column(tape, 0);
    for (int k = 0; k < 14; ++k) sum = operation(tape, "+", {sum, sum});
    nlsq_tape_constant(tape, last, &factor);
    const int small = operation(tape, "*", {factor, sum});
    nlsq_tape_output(tape, operation(tape, "+", {decay_nodes(tape), small}));
    nlsq_model* model = nullptr;
    CHECK(nlsq_model_tape(tape, 1, 3, nullptr, &model) == NLSQ_OK);
    nlsq_tape_free(tape);
    return model;
  };
  nlsq_model *one = model_of(1e-9), *same = model_of(1e-9), *other = model_of(2e-9);
  CHECK(std::string(nlsq_model_formula(one)).find("(a tape of ") == 0);
  const double p0[] = {1, 1, 1};
  nlsq_result *fit = nullptr, *prediction = nullptr;
  REQUIRE(nlsq_model_fit(one, &x, 1, &y, p0, nullptr, &fit) == NLSQ_OK);
  CHECK(nlsq_model_predict(other, &x, 1, fit, nullptr, &prediction) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_model_predict(same, &x, 1, fit, nullptr, &prediction) == NLSQ_OK);
  nlsq_result_free(prediction);
  nlsq_result_free(fit);
  for (nlsq_model* model : {one, same, other}) nlsq_model_free(model);
}

TEST_CASE("what is given twice for a parameter is refused") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  const auto message_of = [&](const std::vector<std::pair<const char*, const char*>>& settings,
                              bool certify = false) {
    const double free[] = {1, 1, std::nan("")}, other[] = {1, 1, 7};
    const double* const p0 = certify ? other : free;
    nlsq_options* options = nullptr;
    nlsq_model* model = nullptr;
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
    for (const auto& [name, value] : settings) REQUIRE(nlsq_options_set(options, name, value) == NLSQ_OK);
    REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
    CHECK((certify ? nlsq_model_certify : nlsq_model_fit)(model, &x, 1, &y, p0, options, &result) ==
          NLSQ_ERROR_OPTION);
    const std::string single = nlsq_last_error();
    const nlsq_batch_column many_x{x, 0}, many_y{y, 0};
    if (!certify) {
      CHECK(nlsq_model_fit_batch(model, &many_x, 1, &many_y, nullptr, nullptr, 2, p0, 1, options, &result) ==
            NLSQ_ERROR_OPTION);
      CHECK(nlsq_last_error() == single);
    }
    nlsq_model_free(model);
    nlsq_options_free(options);
    return single;
  };
  CHECK(message_of({{"bounds", "b=-1:"}, {"bounds", "b=:5"}}).find("b is given twice") != std::string::npos);
  CHECK(message_of({{"fix", "c=1"}, {"fix", "c=2"}}).find("c is given twice") != std::string::npos);
  CHECK(message_of({{"fix", "c=1"}}, true).find("c is 7, and fix holds it at 1") != std::string::npos);
}

TEST_CASE("a function without residuals is refused before it is called") {
  const auto never = [](const double*, double*, double*, void*) { return 1; };
  const double x0[] = {1};
  nlsq_result* result = nullptr;
  CHECK(nlsq_least_squares(never, nullptr, 0, 0, x0, 1, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
}

TEST_CASE("residuals that are not finite at the start have no cost") {
  const auto not_a_number = [](const double*, double* r, double*, void*) { return r[0] = std::nan(""), 0; };
  const double x0[] = {1};
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_least_squares(not_a_number, nullptr, 0, 1, x0, 1, nullptr, &result) == NLSQ_OK);
  CHECK(text(result, "verdict") == "FAILED");
  for (const char* name : {"cost", "initial_cost"}) {
    double cost = 0;
    REQUIRE(nlsq_result_number(result, name, &cost) == NLSQ_OK);
    CHECK(std::isnan(cost));
  }
  nlsq_result_free(result);
}

// Tests curve fits through the C interface: three kinds of models, columns, options, evaluation, prediction.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <nlsq/nlsq.hpp>

#include <cstring>
#include <limits>

using namespace nlsq_test;

namespace {

// Frees the handles that a test makes.
struct Kept {
  nlsq_options* options = nullptr;
  nlsq_model* model = nullptr;
  nlsq_tape* tape = nullptr;
  nlsq_result* result = nullptr;
  Kept() { REQUIRE(nlsq_options_new(&options) == NLSQ_OK); }
  ~Kept() {
    nlsq_options_free(options);
    nlsq_model_free(model);
    nlsq_tape_free(tape);
    nlsq_result_free(result);
  }
  void set(const char* name, const char* value) {
    REQUIRE(nlsq_options_set(options, name, value) == NLSQ_OK);
  }
  int fit(const Decay& data, const double* p0) {
    nlsq_result_free(result);
    const nlsq_column x = data.cx(), y = data.cy();
    std::size_t parameters = 0, predictors = 0;
    nlsq_model_size(model, &parameters, &predictors);
    return nlsq_model_fit(model, &x, predictors, &y, p0, options, &result);
  }
};

const double kOnes[] = {1, 1, 1};

}  // namespace

TEST_CASE("nlsq_curve_fit gives the bits of the C++ library") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_curve_fit(kDecayFormula, &x, 1, &y, "a=1, b=1,c=1", nullptr, &result) == NLSQ_OK);
  const nlsq::FitResult fit =
      nlsq::curve_fit(nlsq::PreparedModel(kDecayFormula), data.x, data.y, std::vector<double>{1, 1, 1});
  CHECK(array(result, "parameters") == fit.parameters);
  CHECK(array(result, "std_errors") == fit.standard_errors);
  CHECK(number(result, "cost") == fit.summary.final_cost);
  CHECK(number(result, "chi2_reduced") == fit.chi2_reduced);
  CHECK(number(result, "success") == 1);
  CHECK(text(result, "verdict") == "CONVERGED");
  CHECK(text(result, "parameter_names") == "a\nb\nc");
  const std::vector<double> covariance = array(result, "covariance");
  REQUIRE(covariance.size() == 9);
  CHECK(covariance[5] == fit.covariance(1, 2));
  const std::vector<double> residuals = array(result, "residuals"), fitted = array(result, "fitted");
  REQUIRE(residuals.size() == 100);
  double sum = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(residuals[i] == doctest::Approx(fitted[i] - data.y[i]).epsilon(1e-14));
    sum += residuals[i] * residuals[i];
  }
  CHECK(sum == doctest::Approx(fit.rss));
  double value = 0;
  CHECK(nlsq_result_number(result, "costs", &value) == NLSQ_ERROR_ARGUMENT);
  CHECK(error_has("chi2_reduced"));
  nlsq_result_free(result);
}

TEST_CASE(
    "a built-in model, and a formula that is one in other words, find their start; NaN stands for no start") {
  const Decay data;
  Kept kept;
  REQUIRE(nlsq_model_text("exp", nullptr, 1, &kept.model) == NLSQ_OK);
  CHECK(kept.fit(data, nullptr) == NLSQ_OK);
  CHECK(number(kept.result, "success") == 1);
  CHECK(array(kept.result, "guess")[1] != 1);
  nlsq_model_free(kept.model);
  REQUIRE(nlsq_model_text("u + v*exp(-t/w)", (const char* const[]){"t"}, 1, &kept.model) == NLSQ_OK);
  CHECK(std::strcmp(nlsq_model_parameter(kept.model, 2), "w") == 0);
  CHECK(nlsq_model_parameter(kept.model, 3) == nullptr);
  const double p0[] = {std::nan(""), std::nan(""), std::nan("")};
  CHECK(kept.fit(data, p0) == NLSQ_OK);
  CHECK(array(kept.result, "guess")[2] != 1);
  CHECK(array(kept.result, "parameters")[2] == doctest::Approx(1 / 1.3).epsilon(0.01));
}

TEST_CASE("a tape gives the fit of its formula, to rounding") {
  const Decay data;
  Kept kept;
  REQUIRE(nlsq_tape_new(&kept.tape) == NLSQ_OK);
  REQUIRE(nlsq_tape_output(kept.tape, decay_nodes(kept.tape)) == NLSQ_OK);
  const char* const names[] = {"a", "b", "c"};
  REQUIRE(nlsq_model_tape(kept.tape, 1, 3, names, &kept.model) == NLSQ_OK);
  REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, data.x, data.y, {{"a", 1}, {"b", 1}, {"c", 1}});
  for (std::size_t j = 0; j < 3; ++j)
    CHECK(array(kept.result, "parameters")[j] == doctest::Approx(fit.parameters[j]).epsilon(1e-12));
  CHECK(text(kept.result, "evaluator") == "graph");
  // The fit respects ties, fixed parameters and bounds.
  kept.set("tie", "c = a/4");
  kept.set("bounds", "b=:1");
  REQUIRE(kept.fit(data, (const double[]){3, 1, std::nan("")}) == NLSQ_OK);
  const std::vector<double> p = array(kept.result, "parameters");
  CHECK(p[2] == p[0] / 4);
  CHECK(p[1] == 1);
}

TEST_CASE("a width has the sign of its start") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(i / 6.0);
    y.push_back(3 * std::exp(-std::pow(x.back() - 4, 2) / 0.72) + 1 + 0.05 * std::sin(997.0 * i));
  }
  const nlsq_column cx = nlsq_column_of(x.data(), x.size()), cy = nlsq_column_of(y.data(), y.size());
  for (const char* start : {"s=5,mu=5,h=1,c=0", "s=0.5,mu=4,h=1,c=0", "s=-5,mu=5,h=1,c=0"}) {
    CAPTURE(start);
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_curve_fit("h*exp(-(x-mu)^2/(2*s^2))+c", &cx, 1, &cy, start, nullptr, &result) == NLSQ_OK);
    const double sign = start[2] == '-' ? -1 : 1;
    CHECK(number(result, "success") == 1);
    CHECK(array(result, "parameters")[2] == doctest::Approx(sign * 0.6).epsilon(0.02));
    CHECK(array(result, "covariance")[2] * sign < 0);  // covariance of h and s
    nlsq_result_free(result);
  }
}

TEST_CASE("a callback gives the fit of its formula, with and without derivatives") {
  const Decay data;
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, data.x, data.y, {{"a", 1}, {"b", 1}, {"c", 1}});
  for (const int has_jacobian : {0, 1}) {
    Kept kept;
    DecayCallback callback{&data};
    REQUIRE(nlsq_model_callback(DecayCallback::call, &callback, has_jacobian, 3, nullptr, &kept.model) ==
            NLSQ_OK);
    REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
    CHECK((callback.jacobians > 0) == (has_jacobian == 1));
    CHECK(number(kept.result, "success") == 1);
    CHECK(text(kept.result, "evaluator") == (has_jacobian == 1 ? "derivatives" : "finite differences"));
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(array(kept.result, "parameters")[j] == doctest::Approx(fit.parameters[j]).epsilon(1e-9));
      CHECK(array(kept.result, "std_errors")[j] == doctest::Approx(fit.standard_errors[j]).epsilon(1e-6));
    }
    CHECK(number(kept.result, "r_squared") == doctest::Approx(fit.r_squared));
    CHECK(array(kept.result, "fitted").size() == 100);
    CHECK(callback.elsewhere == 0);
    CHECK(kept.fit(data, (const double[]){1, std::nan(""), 1}) == NLSQ_ERROR_OPTION);
    CHECK(error_has("no value for p1"));
    kept.set("starts", "4");
    REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
    CHECK(number(kept.result, "success") == 1);
    CHECK(array(kept.result, "minima").size() >= 4);
    CHECK(callback.elsewhere == 0);
  }
}

TEST_CASE("a callback follows sigma, losses, bounds, fixed and tied parameters as the formula does") {
  Decay data;
  data.y[20] += 1;
  const std::vector<double> sigma(100, 0.02);
  const nlsq_column column = nlsq_column_of(sigma.data(), 100);
  for (const int has_jacobian : {0, 1}) {
    Kept called, written;
    DecayCallback callback{&data};
    const char* const names[] = {"a", "b", "c"};
    REQUIRE(nlsq_model_callback(DecayCallback::call, &callback, has_jacobian, 3, names, &called.model) ==
            NLSQ_OK);
    REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &written.model) == NLSQ_OK);
    for (Kept* kept : {&called, &written}) {
      REQUIRE(nlsq_options_set_column(kept->options, "sigma", &column) == NLSQ_OK);
      kept->set("absolute_sigma", "yes");
      kept->set("loss", "huber");
      kept->set("f_scale", "1.5");
      kept->set("tie", "c = a/4");
      kept->set("bounds", "b=0.1:1.2");
      REQUIRE(kept->fit(data, (const double[]){2, 1, std::nan("")}) == NLSQ_OK);
    }
    const auto a = array(called.result, "parameters"), b = array(written.result, "parameters");
    const auto ea = array(called.result, "std_errors"), eb = array(written.result, "std_errors");
    for (const std::size_t j : {0u, 1u, 2u}) CHECK(a[j] == doctest::Approx(b[j]).epsilon(1e-7));
    CHECK(ea[0] == doctest::Approx(eb[0]).epsilon(1e-5));
    CHECK(ea[2] == doctest::Approx(eb[2]).epsilon(1e-5));
    CHECK(number(called.result, "cost") == doctest::Approx(number(written.result, "cost")).epsilon(1e-9));
  }
}

TEST_CASE("a callback that returns a number ends the fit, and the number is in the error") {
  const Decay data;
  Kept kept;
  DecayCallback callback{&data, 0, 42};
  REQUIRE(nlsq_model_callback(DecayCallback::call, &callback, 0, 3, nullptr, &kept.model) == NLSQ_OK);
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_CALLBACK);
  CHECK(callback.calls == 1);
  double code = 0;
  CHECK(nlsq_last_error_number("callback", &code) == NLSQ_OK);
  CHECK(code == 42);
}

TEST_CASE("a recheck believes a right tape, and refuses a wrong one at the start and at the end") {
  const Decay data;
  Kept kept;
  REQUIRE(nlsq_tape_new(&kept.tape) == NLSQ_OK);
  REQUIRE(nlsq_tape_output(kept.tape, decay_nodes(kept.tape)) == NLSQ_OK);
  REQUIRE(nlsq_model_tape(kept.tape, 1, 3, nullptr, &kept.model) == NLSQ_OK);
  DecayCallback right{&data};
  REQUIRE(nlsq_model_set_recheck(kept.model, DecayCallback::call, &right) == NLSQ_OK);
  CHECK(kept.fit(data, kOnes) == NLSQ_OK);
  CHECK(right.calls == 2);
  DecayCallback wrong{&data, 1e-6};
  REQUIRE(nlsq_model_set_recheck(kept.model, DecayCallback::call, &wrong) == NLSQ_OK);
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_RECHECK);
  CHECK(kept.result == nullptr);
  CHECK(wrong.calls == 1);
  double row = -1;
  CHECK(nlsq_last_error_number("row", &row) == NLSQ_OK);
  CHECK(row == 7);
  // This one is right at the start, and is another model at the end.
  struct Late {
    const Decay* data;
    static int call(const double* p, double* y, double*, void* user) {
      DecayCallback inner{static_cast<Late*>(user)->data, p[0] == 1 ? 0 : 1e-3};
      return DecayCallback::call(p, y, nullptr, &inner);
    }
  } late{&data};
  REQUIRE(nlsq_model_set_recheck(kept.model, Late::call, &late) == NLSQ_OK);
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_RECHECK);
  CHECK(error_has("at the end"));
  kept.set("recheck_tolerance", "0.01");
  CHECK(kept.fit(data, kOnes) == NLSQ_OK);
}

TEST_CASE("a recheck allows the rounding of cancelled terms, and no more") {
  // (x + 1e9) - 1e9 loses nine digits that the callback, which returns x itself, keeps.
  Decay data;
  Kept kept;
  REQUIRE(nlsq_tape_new(&kept.tape) == NLSQ_OK);
  int large = 0;
  nlsq_tape_constant(kept.tape, 1e9, &large);
  const int lost =
      operation(kept.tape, "-", {operation(kept.tape, "+", {column(kept.tape, 0), large}), large});
  nlsq_tape_output(kept.tape, operation(kept.tape, "*", {lost, parameter(kept.tape, 0)}));
  REQUIRE(nlsq_model_tape(kept.tape, 1, 1, nullptr, &kept.model) == NLSQ_OK);
  struct Exact {
    const Decay* data;
    double error;
    static int call(const double* p, double* y, double*, void* user) {
      const auto& self = *static_cast<Exact*>(user);
      for (std::size_t i = 0; i < self.data->x.size(); ++i) y[i] = p[0] * self.data->x[i];
      y[50] += self.error;
      return 0;
    }
  } exact{&data, 0};
  nlsq_model_set_recheck(kept.model, Exact::call, &exact);
  CHECK(kept.fit(data, kOnes) == NLSQ_OK);
  exact.error = 0.1;
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_RECHECK);
}

TEST_CASE("columns may have any type and any stride, negative ones and unaligned data too") {
  const int rows = 40;
  std::vector<double> x(rows), y(rows);
  for (int i = 0; i < rows; ++i) {
    x[static_cast<std::size_t>(i)] = i;
    y[static_cast<std::size_t>(i)] = 7 * i + 3 + i % 3;
  }
  const auto fit_of = [](nlsq_column cx, nlsq_column cy) {
    nlsq_result* result = nullptr;
    REQUIRE(nlsq_curve_fit("a*x+b", &cx, 1, &cy, nullptr, nullptr, &result) == NLSQ_OK);
    const std::vector<double> p = array(result, "parameters");
    nlsq_result_free(result);
    return p;
  };
  const std::vector<double> expected = fit_of(nlsq_column_of(x.data(), rows), nlsq_column_of(y.data(), rows));
  // Records without padding: an int8, then a double that is not aligned, then a float.
  struct [[gnu::packed]] Record {
    std::int8_t x;
    double wide_x;
    float y;
  };
  std::vector<Record> records(rows);
  for (int i = 0; i < rows; ++i) {
    const auto k = static_cast<std::size_t>(i);
    records[k] = {static_cast<std::int8_t>(i), x[k], static_cast<float>(y[k])};
  }
  const auto* first = reinterpret_cast<const char*>(records.data());
  const nlsq_column small{first, NLSQ_I8, sizeof(Record), rows},
      wide{first + 1, NLSQ_F64, sizeof(Record), rows}, single{first + 9, NLSQ_F32, sizeof(Record), rows};
  CHECK(fit_of(small, single) == expected);
  CHECK(fit_of(wide, single) == expected);
  const nlsq_column back_x{&x[rows - 1], NLSQ_F64, -8, rows}, back_y{&y[rows - 1], NLSQ_F64, -8, rows};
  CHECK(fit_of(back_x, back_y)[0] == doctest::Approx(expected[0]).epsilon(1e-12));
  // A stride of 0 repeats one number.
  const double one = 1;
  const nlsq_column ones{&one, NLSQ_F64, 0, rows};
  nlsq_result* result = nullptr;
  const nlsq_column columns[] = {nlsq_column_of(x.data(), rows), ones};
  const nlsq_column cy = nlsq_column_of(y.data(), rows);
  REQUIRE(nlsq_curve_fit("a*x1+b*x2", columns, 2, &cy, nullptr, nullptr, &result) == NLSQ_OK);
  CHECK(array(result, "parameters")[1] == doctest::Approx(expected[1]).epsilon(1e-12));
  nlsq_result_free(result);
}

TEST_CASE("options reach the fit") {
  const Decay data;
  Kept kept;
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &kept.model) == NLSQ_OK);
  kept.set("max-iterations", "1");
  kept.set("solve_linear_start", "no");
  kept.set("variable_projection", "off");
  REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
  CHECK(text(kept.result, "status") == "max_iterations");
  CHECK(number(kept.result, "success") == 0);
  kept.set("max_iterations", "1000");
  kept.set("fix", "c=0.5");
  REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
  CHECK(array(kept.result, "parameters")[2] == 0.5);
  CHECK(array(kept.result, "fixed") == std::vector<double>{0, 0, 1});
  kept.set("fix", "");
  const double upper[] = {2, HUGE_VAL, HUGE_VAL};
  REQUIRE(nlsq_options_set_array(kept.options, "upper", upper, 3) == NLSQ_OK);
  REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
  CHECK(array(kept.result, "at_bound") == std::vector<double>{1, 0, 0});
  kept.set("bounds", "a=0:1");
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_OPTION);
  kept.set("bounds", "");
  REQUIRE(nlsq_options_set_array(kept.options, "upper", nullptr, 0) == NLSQ_OK);
  kept.set("precision", "f64");
  kept.set("residuals", "no");
  REQUIRE(kept.fit(data, kOnes) == NLSQ_OK);
  CHECK(text(kept.result, "policy") == "f64");
  CHECK(array(kept.result, "residuals").empty());
  CHECK(error_has("set the option residuals to yes"));
  kept.set("f_scale", "2");
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_OPTION);
  kept.set("loss", "huber");
  CHECK(kept.fit(data, kOnes) == NLSQ_OK);
  nlsq_options* copy = nullptr;
  REQUIRE(nlsq_options_copy(kept.options, &copy) == NLSQ_OK);
  kept.set("loss", "linear");
  CHECK(kept.fit(data, kOnes) == NLSQ_ERROR_OPTION);
  std::swap(copy, kept.options);
  CHECK(kept.fit(data, kOnes) == NLSQ_OK);
  nlsq_options_free(copy);
}

TEST_CASE("evaluate, guess, certify and predict give what C++ gives") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  Kept kept;
  REQUIRE(nlsq_model_text("exp", nullptr, 1, &kept.model) == NLSQ_OK);
  REQUIRE(kept.fit(data, nullptr) == NLSQ_OK);
  const std::vector<double> p = array(kept.result, "parameters");
  std::vector<double> values(100), J(300);
  REQUIRE(nlsq_model_evaluate(kept.model, &x, 1, 100, p.data(), nullptr, values.data(), J.data()) == NLSQ_OK);
  CHECK(values[3] == doctest::Approx(p[0] * std::exp(-p[1] * data.x[3]) + p[2]).epsilon(1e-14));
  CHECK(J[3 * 3 + 1] == doctest::Approx(-p[0] * data.x[3] * std::exp(-p[1] * data.x[3])).epsilon(1e-14));
  CHECK(nlsq_model_evaluate(kept.model, &x, 1, 99, p.data(), nullptr, values.data(), nullptr) ==
        NLSQ_ERROR_ARGUMENT);
  std::vector<double> guess(3);
  REQUIRE(nlsq_model_guess(kept.model, &x, 1, &y, guess.data()) == NLSQ_OK);
  CHECK(guess[1] > 0.5);
  nlsq_result* judged = nullptr;
  REQUIRE(nlsq_model_certify(kept.model, &x, 1, &y, p.data(), nullptr, &judged) == NLSQ_OK);
  CHECK(number(judged, "success") == 1);
  CHECK(number(judged, "iterations") == 0);
  nlsq_result_free(judged);
  std::vector<double> off = p;
  off[1] *= 1.01;
  REQUIRE(nlsq_model_certify(kept.model, &x, 1, &y, off.data(), nullptr, &judged) == NLSQ_OK);
  CHECK(number(judged, "success") == 0);
  CHECK(array(judged, "parameters") == off);
  nlsq_result* prediction = nullptr;
  CHECK(nlsq_model_predict(kept.model, &x, 1, judged, nullptr, &prediction) == NLSQ_OK);
  nlsq_result_free(prediction);
  nlsq_result_free(judged);
  REQUIRE(nlsq_model_predict(kept.model, &x, 1, kept.result, nullptr, &prediction) == NLSQ_OK);
  const nlsq::FitResult fit = nlsq::curve_fit(nlsq::model("exp"), data.x, data.y);
  const nlsq::Prediction bands = nlsq::predict(nlsq::model("exp"), data.x, fit);
  CHECK(array(prediction, "prediction_high")[10] == doctest::Approx(bands.prediction_high[10]).epsilon(1e-9));
  CHECK(array(prediction, "std_error")[99] == doctest::Approx(bands.standard_error[99]).epsilon(1e-9));
  nlsq_result_free(prediction);
}

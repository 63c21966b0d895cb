// Compares profile intervals, the bootstrap and derived quantities through the C interface with those of C++.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <nlsq/nlsq.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq_test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Holds a fit of the decay, and its model.
struct Fitted {
  Decay data;
  nlsq_column x = data.cx(), y = data.cy();
  nlsq_model* model = nullptr;
  nlsq_result* fit = nullptr;
  Fitted() {
    REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
    REQUIRE(nlsq_model_fit(model, &x, 1, &y, nullptr, nullptr, &fit) == NLSQ_OK);
  }
  ~Fitted() {
    nlsq_result_free(fit);
    nlsq_model_free(model);
  }
  Fitted(const Fitted&) = delete;
  Fitted& operator=(const Fitted&) = delete;

  int intervals(const char* parameters, double confidence, nlsq_result** out, const nlsq_model* of = nullptr,
                const nlsq_options* options = nullptr) const {
    return nlsq_model_profile_intervals(of != nullptr ? of : model, &x, 1, &y, fit, parameters, confidence,
                                        options, out);
  }
};

}  // namespace

TEST_CASE("profile intervals are those of C++") {
  const Fitted f;
  nlsq::IntervalOptions wanted;
  wanted.confidence = 0.8;
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, f.data.x, f.data.y);
  const auto ours = nlsq::profile_intervals(kDecayFormula, f.data.x, f.data.y, fit, {}, wanted);
  nlsq_result* result = nullptr;
  REQUIRE(f.intervals(nullptr, 0.8, &result) == NLSQ_OK);
  CHECK(text(result, "parameter_names") == "a\nb\nc");
  CHECK(text(result, "ends_low") == "found\nfound\nfound");
  const auto low = array(result, "ci_low"), high = array(result, "ci_high");
  REQUIRE(low.size() == 3);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(low[j] == doctest::Approx(ours.intervals[j].lower).epsilon(1e-12));
    CHECK(high[j] == doctest::Approx(ours.intervals[j].upper).epsilon(1e-12));
  }
  double threshold = 0;
  REQUIRE(nlsq_result_number(result, "threshold", &threshold) == NLSQ_OK);
  CHECK(threshold == doctest::Approx(ours.threshold).epsilon(1e-12));
  CHECK(array(result, "better").empty());
  CHECK(std::string(nlsq_result_json(result)).find("\"ci_low\"") != std::string::npos);
  nlsq_result_free(result);
}

TEST_CASE("other data than those of the fit are refused") {
  const Fitted f;
  std::vector<double> other = f.data.y;
  other[2] += 1;
  nlsq_column y = f.y;
  y.data = other.data();
  nlsq_result* result = nullptr;
  CHECK(nlsq_model_profile_intervals(f.model, &f.x, 1, &y, f.fit, nullptr, 0.9, nullptr, &result) != NLSQ_OK);
  CHECK(result == nullptr);
  CHECK(std::string(nlsq_last_error()).find("give the data and options of the fit") != std::string::npos);
}

TEST_CASE("a callback has the intervals of its formula") {
  const Fitted f;
  DecayCallback caller{&f.data};
  const char* const names[] = {"a", "b", "c"};
  nlsq_model* called = nullptr;
  REQUIRE(nlsq_model_callback(DecayCallback::call, &caller, 1, 3, names, &called) == NLSQ_OK);
  nlsq_result *by_formula = nullptr, *by_call = nullptr;
  REQUIRE(f.intervals("b, c", kNaN, &by_formula) == NLSQ_OK);
  REQUIRE(nlsq_model_profile_intervals(called, nullptr, 0, &f.y, f.fit, "b, c", kNaN, nullptr, &by_call) ==
          NLSQ_OK);
  CHECK(text(by_call, "parameter_names") == "b\nc");
  for (const char* end : {"ci_low", "ci_high"}) {
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(array(by_call, end)[j] == doctest::Approx(array(by_formula, end)[j]).epsilon(1e-9));
  }
  for (nlsq_result* result : {by_formula, by_call}) nlsq_result_free(result);
  nlsq_model_free(called);
}

TEST_CASE("the bootstrap is that of C++, for a formula and for a callback") {
  const Fitted f;
  DecayCallback caller{&f.data};
  const char* const names[] = {"a", "b", "c"};
  nlsq_model* called = nullptr;
  REQUIRE(nlsq_model_callback(DecayCallback::call, &caller, 1, 3, names, &called) == NLSQ_OK);
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, f.data.x, f.data.y);
  using enum nlsq::BootstrapMethod;
  for (const nlsq::BootstrapMethod method : {residual, cases, parametric}) {
    CAPTURE(nlsq::name(method));
    nlsq::BootstrapOptions wanted{.samples = 20, .method = method, .seed = 4, .derived = {"h = log(2)/b"}};
    wanted.confidence = 0.8;
    const nlsq::Bootstrap ours = nlsq::bootstrap(kDecayFormula, f.data.x, f.data.y, fit, {}, wanted);
    for (const bool by_call : {false, true}) {
      nlsq_result* result = nullptr;
      REQUIRE(nlsq_model_bootstrap(by_call ? called : f.model, by_call ? nullptr : &f.x, by_call ? 0 : 1,
                                   &f.y, f.fit, 20, 4, nlsq::name(method), "h = log(2)/b", 0.8, nullptr,
                                   &result) == NLSQ_OK);
      CHECK(text(result, "names") == "a\nb\nc\nh");
      CHECK(text(result, "method") == nlsq::name(method));
      const std::vector<double> values = array(result, "values"), errors = array(result, "std_error");
      REQUIRE(values.size() == 80);
      for (std::size_t i = 0; i < 80; ++i)
        CHECK(values[i] == doctest::Approx(ours.values(i / 4, i % 4)).epsilon(1e-7));
      CHECK(errors[3] == doctest::Approx(ours.derived[0].standard_error).epsilon(1e-5));
      CHECK(array(result, "ci_high")[1] == doctest::Approx(ours.parameters[1].ci_high).epsilon(1e-7));
      nlsq_result_free(result);
    }
  }
  nlsq_model_free(called);
}

TEST_CASE("derived quantities are those of C++") {
  const Fitted f;
  const nlsq::FitResult fit = nlsq::curve_fit(kDecayFormula, f.data.x, f.data.y);
  const auto ours = nlsq::derive(fit, {"half_life = log(2)/b", "none = log(-half_life)"});
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_result_derive(f.fit, "half_life = log(2)/b\n none = log(-half_life)\n", kNaN, &result) ==
          NLSQ_OK);
  CHECK(text(result, "names") == "half_life\nnone");
  CHECK(text(result, "notes") == "\n" + ours[1].note);
  CHECK(array(result, "value")[0] == doctest::Approx(ours[0].value).epsilon(1e-13));
  CHECK(array(result, "std_error")[0] == doctest::Approx(ours[0].standard_error).epsilon(1e-12));
  CHECK(array(result, "ci_low")[0] == doctest::Approx(ours[0].ci_low).epsilon(1e-12));
  CHECK(std::isnan(array(result, "value")[1]));
  nlsq_result_free(result);
}

TEST_CASE("mistakes are refused, and nothing is made") {
  const Fitted f;
  nlsq_result* result = nullptr;
  CHECK(f.intervals("q", 0.9, &result) == NLSQ_ERROR_OPTION);
  CHECK(f.intervals("b", 1.5, &result) == NLSQ_ERROR_OPTION);
  nlsq_model* other = nullptr;
  REQUIRE(nlsq_model_text("a*exp(-b*x)-c", nullptr, 1, &other) == NLSQ_OK);
  CHECK(f.intervals("b", 0.9, &result, other) == NLSQ_ERROR_ARGUMENT);
  nlsq_model_free(other);
  const nlsq_column short_x = nlsq_column_of(f.data.x.data(), 50),
                    short_y = nlsq_column_of(f.data.y.data(), 50);
  CHECK(nlsq_model_profile_intervals(f.model, &short_x, 1, &short_y, f.fit, "b", 0.9, nullptr, &result) ==
        NLSQ_ERROR_DATA);
  CHECK(std::string(nlsq_last_error()).find("50 rows, and the fit was of 100") != std::string::npos);
  CHECK(nlsq_model_bootstrap(f.model, &f.x, 1, &f.y, f.fit, 5, 1, "cases", nullptr, 0.9, nullptr, &result) ==
        NLSQ_ERROR_OPTION);
  CHECK(nlsq_model_bootstrap(f.model, &f.x, 1, &f.y, f.fit, 1, 1, "case", nullptr, 0.9, nullptr, &result) ==
        NLSQ_ERROR_OPTION);
  CHECK(nlsq_result_derive(f.fit, "log(2)/b", 0.9, &result) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_result_derive(f.fit, nullptr, 0.9, &result) == NLSQ_ERROR_ARGUMENT);
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  REQUIRE(nlsq_options_cancel(options) == NLSQ_OK);
  CHECK(f.intervals("b", 0.9, &result, nullptr, options) == NLSQ_ERROR_CALLBACK);
  nlsq_options_free(options);
  CHECK(result == nullptr);
}

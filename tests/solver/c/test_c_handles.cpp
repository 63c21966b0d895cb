// Tests handles, status codes and error texts of the C interface.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <cstdint>
#include <cstring>
#include <thread>

using namespace nlsq_test;

TEST_CASE("a freed handle, NULL, another pointer and a handle of another type are errors, not crashes") {
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  nlsq_tape* tape = nullptr;
  REQUIRE(nlsq_tape_new(&tape) == NLSQ_OK);
  CHECK(nlsq_options_set(reinterpret_cast<nlsq_options*>(tape), "xtol", "0.1") == NLSQ_ERROR_HANDLE);
  CHECK(error_has("nlsq_tape was given where nlsq_options is wanted"));
  CHECK(nlsq_options_free(options) == NLSQ_OK);
  CHECK(nlsq_options_free(options) == NLSQ_ERROR_HANDLE);
  CHECK(error_has("was freed"));
  CHECK(nlsq_options_set(options, "xtol", "0.1") == NLSQ_ERROR_HANDLE);
  CHECK(nlsq_options_set(nullptr, "xtol", "0.1") == NLSQ_ERROR_HANDLE);
  CHECK(error_has("NULL"));
  int local = 0;
  CHECK(nlsq_options_free(reinterpret_cast<nlsq_options*>(&local)) == NLSQ_ERROR_HANDLE);
  CHECK(nlsq_options_free(reinterpret_cast<nlsq_options*>(UINTPTR_MAX)) == NLSQ_ERROR_HANDLE);
  CHECK(nlsq_tape_free(tape) == NLSQ_OK);
  // A new handle never has the number of an old one.
  nlsq_options* again = nullptr;
  REQUIRE(nlsq_options_new(&again) == NLSQ_OK);
  CHECK(again != options);
  nlsq_options_free(again);
}

TEST_CASE("freeing NULL does nothing, and handles are counted") {
  const std::size_t before = nlsq_live_handles();
  CHECK(nlsq_options_free(nullptr) == NLSQ_OK);
  CHECK(nlsq_result_free(nullptr) == NLSQ_OK);
  CHECK(nlsq_model_free(nullptr) == NLSQ_OK);
  CHECK(nlsq_tape_free(nullptr) == NLSQ_OK);
  CHECK(nlsq_problem_free(nullptr) == NLSQ_OK);
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("a*x", nullptr, 1, &model) == NLSQ_OK);
  CHECK(nlsq_live_handles() == before + 1);
  nlsq_model_free(model);
  CHECK(nlsq_live_handles() == before);
}

TEST_CASE("NULL in the place of an argument is an error that names it, and the result is NULL") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  auto* result = reinterpret_cast<nlsq_result*>(1);
  CHECK(nlsq_curve_fit(nullptr, &x, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  CHECK(error_has("model is NULL"));
  CHECK(result == nullptr);
  CHECK(nlsq_curve_fit("a*x", nullptr, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_curve_fit("a*x", &x, 1, nullptr, nullptr, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_curve_fit("a*x", &x, 1, &y, nullptr, nullptr, nullptr) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_least_squares(nullptr, nullptr, 0, 1, &data.x[0], 1, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_options_new(nullptr) == NLSQ_ERROR_ARGUMENT);
  nlsq_column broken = x;
  broken.data = nullptr;
  CHECK(nlsq_curve_fit("a*x", &broken, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  broken = x;
  broken.type = 99;
  CHECK(nlsq_curve_fit("a*x", &broken, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_ARGUMENT);
  CHECK(error_has("x[0]: its type is 99"));
}

TEST_CASE("errors say where: a row of data, a place in a formula, a status") {
  Decay data;
  data.y[5] = std::nan("");
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_result* result = nullptr;
  double value = -1;
  CHECK(nlsq_curve_fit("exp", &x, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_DATA);
  CHECK(nlsq_last_error_number("row", &value) == NLSQ_OK);
  CHECK(value == 5);
  CHECK(nlsq_last_error_number("column", &value) == NLSQ_OK);
  CHECK(value == 1);
  CHECK(nlsq_last_error_number("callback", &value) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_curve_fit("a*exp(", &x, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_MODEL);
  CHECK(nlsq_last_error_number("position", &value) == NLSQ_OK);
  CHECK(nlsq_last_error_number("row", &value) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_last_error_number("status", &value) == NLSQ_OK);
  CHECK(value == NLSQ_ERROR_MODEL);
  CHECK(nlsq_curve_fit("gausian", &x, 1, &y, nullptr, nullptr, &result) == NLSQ_ERROR_MODEL);
  CHECK(error_has("gaussian"));
  data.y[5] = 1;
  CHECK(nlsq_curve_fit("exp", &x, 1, &y, "q=1", nullptr, &result) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_curve_fit("exp", &x, 1, &y, "a=one", nullptr, &result) == NLSQ_ERROR_OPTION);
  CHECK(error_has("'one' of a is not a number"));
}

TEST_CASE("each thread has its own last error") {
  CHECK(nlsq_options_set(nullptr, "xtol", "1") == NLSQ_ERROR_HANDLE);
  const std::string mine = nlsq_last_error();
  std::string theirs = "?";
  std::thread([&] {
    theirs = nlsq_last_error();
    nlsq_result* result = nullptr;
    nlsq_curve_fit("a*exp(", nullptr, 0, nullptr, nullptr, nullptr, &result);
  }).join();
  CHECK(theirs.empty());
  CHECK(nlsq_last_error() == mine);
}

TEST_CASE("status codes, verdicts and terminations have names") {
  CHECK(std::strcmp(nlsq_status_name(NLSQ_OK), "NLSQ_OK") == 0);
  CHECK(std::strcmp(nlsq_status_name(NLSQ_ERROR_RECHECK), "NLSQ_ERROR_RECHECK") == 0);
  CHECK(std::strcmp(nlsq_status_name(77), "unknown") == 0);
  CHECK(std::strcmp(nlsq_verdict_name(NLSQ_CONVERGED), "CONVERGED") == 0);
  CHECK(std::strcmp(nlsq_verdict_name(-1), "unknown") == 0);
  CHECK(std::strcmp(nlsq_termination_name(NLSQ_ENDED_USER_STOP), "user_stop") == 0);
  CHECK(std::strstr(nlsq_build_information(), nlsq_version()) != nullptr);
}

TEST_CASE("a matrix whose size overflows is refused") {
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  const double one = 1;
  CHECK(nlsq_options_set_matrix(options, "sigma_matrix", &one, std::size_t{1} << 33) != NLSQ_OK);
  nlsq_options_free(options);
}

TEST_CASE("options refuse unknown names and wrong values, and keep what they had") {
  nlsq_options* o = nullptr;
  REQUIRE(nlsq_options_new(&o) == NLSQ_OK);
  CHECK(nlsq_options_set(o, "xtoll", "1") == NLSQ_ERROR_OPTION);
  CHECK(error_has("xtol, gtol, ftol"));
  for (const auto& option : std::vector<std::pair<const char*, const char*>>{{"xtol", "1"},
                                                                             {"xtol", "nan"},
                                                                             {"xtol", "1e-9x"},
                                                                             {"xtol", ""},
                                                                             {"strategy", "newton"},
                                                                             {"max-iterations", "1.5"},
                                                                             {"max_iterations", "-1"},
                                                                             {"threads", "9999"},
                                                                             {"precision", "f99"},
                                                                             {"rule", "nonsense"},
                                                                             {"loss", "hubert"},
                                                                             {"f_scale", "0"},
                                                                             {"bounds", "a=1"},
                                                                             {"bounds", "a=0:x"},
                                                                             {"fix", "=1"},
                                                                             {"absolute_sigma", "maybe"},
                                                                             {"confidence", "1"},
                                                                             {"seed", "-1"},
                                                                             {"eta", "0"}}) {
    CAPTURE(option.first);
    CAPTURE(option.second);
    CHECK(nlsq_options_set(o, option.first, option.second) == NLSQ_ERROR_OPTION);
  }
  CHECK(nlsq_options_set(o, "max-iterations", "7") == NLSQ_OK);
  CHECK(nlsq_options_set(o, "xtol", " 1e-9 ") == NLSQ_OK);
  CHECK(nlsq_options_set(o, "absolute_sigma", "1") == NLSQ_OK);
  CHECK(nlsq_options_set_number(o, "gtol", 1e-8) == NLSQ_OK);
  CHECK(nlsq_options_set_number(o, "loss", 1) == NLSQ_ERROR_OPTION);
  const double scale[] = {1, -1};
  CHECK(nlsq_options_set_array(o, "x_scale", scale, 2) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_options_set_array(o, "middle", scale, 2) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_options_set_matrix(o, "sigma", scale, 1) == NLSQ_ERROR_OPTION);
  CHECK(nlsq_options_set_column(o, "sigma_y", nullptr) == NLSQ_ERROR_OPTION);
  nlsq_options_free(o);
}

TEST_CASE("several numbers and arrays of a result are read in one call, if there is room for just these") {
  const Decay data;
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_result* result = nullptr;
  REQUIRE(nlsq_curve_fit(kDecayFormula, &x, 1, &y, "a=1,b=1,c=1", nullptr, &result) == NLSQ_OK);
  std::vector<double> expected{number(result, "success")}, values(14, -1.0);
  for (const char* name : {"parameters", "covariance"})
    for (const double value : array(result, name)) expected.push_back(value);
  expected.push_back(number(result, "cost"));
  const char* const names = "success parameters covariance cost";
  REQUIRE(nlsq_result_values(result, names, values.data(), 14) == NLSQ_OK);
  CHECK(values == expected);
  values.assign(14, -1.0);
  CHECK(nlsq_result_values(result, names, values.data(), 13) == NLSQ_ERROR_ARGUMENT);
  CHECK(error_has("values has 13 entries, and there are 14 numbers"));
  CHECK(values[13] == -1);
  CHECK(nlsq_result_values(result, "success", values.data(), 2) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_result_values(result, "success hamster", values.data(), 2) == NLSQ_ERROR_ARGUMENT);
  CHECK(error_has("no number or array 'hamster'"));
  CHECK(nlsq_result_values(result, nullptr, values.data(), 1) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_result_values(result, "success", nullptr, 1) == NLSQ_ERROR_ARGUMENT);
  nlsq_result_free(result);
  CHECK(nlsq_result_values(result, "success", values.data(), 1) == NLSQ_ERROR_HANDLE);
}

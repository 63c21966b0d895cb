// Tests values of models through nlsq_model_evaluate, for few rows and for many.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

using namespace nlsq_test;

namespace {

// Returns values at x, by one call.
std::vector<double> values_at(const nlsq_model* model, const std::vector<double>& x, const double* p) {
  std::vector<double> out(x.size());
  const nlsq_column column = nlsq_column_of(x.data(), x.size());
  REQUIRE(nlsq_model_evaluate(model, &column, 1, x.size(), p, nullptr, out.data(), nullptr) == NLSQ_OK);
  return out;
}

}  // namespace

TEST_CASE("values of many rows, which a program computes in parts, are those of single rows") {
  nlsq_tape* tape = nullptr;
  nlsq_model* models[5] = {};
  REQUIRE(nlsq_tape_new(&tape) == NLSQ_OK);
  REQUIRE(nlsq_tape_output(tape, decay_nodes(tape)) == NLSQ_OK);
  REQUIRE(nlsq_model_tape(tape, 1, 3, nullptr, &models[0]) == NLSQ_OK);
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &models[1]) == NLSQ_OK);
  REQUIRE(nlsq_model_text("log(y) = a*exp(-b*x)+c", nullptr, 1, &models[2]) == NLSQ_OK);
  REQUIRE(nlsq_model_text("if(x<1, a*x, a*exp(-b*x)+c)", nullptr, 1, &models[3]) == NLSQ_OK);
  REQUIRE(nlsq_model_text("a*sqrt(b-x)+c", nullptr, 1, &models[4]) == NLSQ_OK);  // NaN in many rows
  const double p[] = {3, 1.3, 0.7};
  for (const std::size_t rows : {1, 256, 257, 8192, 8193, 30000}) {
    std::vector<double> x(rows);
    for (std::size_t i = 0; i < rows; ++i) x[i] = 5.0 * static_cast<double>(i) / static_cast<double>(rows);
    for (nlsq_model* const model : models) {
      const std::vector<double> all = values_at(model, x, p);
      for (std::size_t i = 0; i < rows; i += rows / 50 + 1) {
        const double one = values_at(model, {x[i]}, p)[0];
        CAPTURE(rows);
        CAPTURE(i);
        if (std::isnan(one)) CHECK(std::isnan(all[i]));
        else CHECK(all[i] == doctest::Approx(one).epsilon(1e-14));
      }
    }
  }
  for (nlsq_model* const model : models) nlsq_model_free(model);
  nlsq_tape_free(tape);
}

TEST_CASE("values beside a fit by the same model, and after it, are its values") {
  Decay data(1000);
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
  const double p[] = {3, 1.3, 0.7};
  const std::vector<double> before = values_at(model, data.x, p);
  const nlsq_column x = data.cx(), y = data.cy();
  nlsq_result* fit = nullptr;
  REQUIRE(nlsq_model_fit(model, &x, 1, &y, nullptr, nullptr, &fit) == NLSQ_OK);
  nlsq_result* again = nullptr;
  CHECK(values_at(model, data.x, p) == before);
  REQUIRE(nlsq_model_fit(model, &x, 1, &y, nullptr, nullptr, &again) == NLSQ_OK);
  CHECK(array(fit, "parameters") == array(again, "parameters"));
  nlsq_result_free(fit);
  nlsq_result_free(again);
  nlsq_model_free(model);
}

TEST_CASE("values agree with a model where they differ by rounding, and NaN and infinities are the same") {
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("a*sqrt(b-x)+c/x", nullptr, 1, &model) == NLSQ_OK);  // NaN above b, infinite at 0
  const double p[] = {3, 4.5, 0.7}, inf = std::numeric_limits<double>::infinity();
  for (const std::size_t rows : {100, 8192, 30000}) {
    CAPTURE(rows);
    std::vector<double> x(rows);
    for (std::size_t i = 0; i < rows; ++i) x[i] = 5.0 * static_cast<double>(i) / static_cast<double>(rows);
    const std::vector<double> exact = values_at(model, x, p);
    CHECK(exact[0] == inf);
    CHECK(std::isnan(exact[rows - 1]));
    const nlsq_column column = nlsq_column_of(x.data(), rows);
    const auto agrees = [&](std::size_t row, double value, double relative = 1e-9) {
      std::vector<double> values = exact;
      values[row] = value;
      int answer = -1;
      REQUIRE(nlsq_model_agrees(model, &column, 1, rows, p, values.data(), relative, 1e-12, &answer) ==
              NLSQ_OK);
      return answer;
    };
    CHECK(agrees(1, exact[1]) == 1);
    for (const std::size_t row : {rows / 3, rows / 2, 4 * rows / 5}) {
      CHECK(agrees(row, exact[row] * (1 + 1e-10)) == 1);
      CHECK(agrees(row, exact[row] * (1 + 1e-8)) == 0);
      CHECK(agrees(row, std::nan("")) == 0);
      CHECK(agrees(row, inf) == 0);
    }
    CHECK(agrees(0, -inf) == 0);
    CHECK(agrees(0, 1e300) == 0);
    CHECK(agrees(rows - 1, 0.0) == 0);
    // These differ relative to the largest value, which is in another part.
    CHECK(agrees(2 * rows / 3, exact[2 * rows / 3] + 0.5e-12 * exact[1], 0) == 1);
    CHECK(agrees(2 * rows / 3, exact[2 * rows / 3] + 2e-12 * exact[1], 0) == 0);
  }
  nlsq_model_free(model);
}

TEST_CASE("values are compared up to the last row, and nothing behind it is read") {
  // The values end with a page, and the next page must not be read.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  double* const end = reinterpret_cast<double*>(static_cast<char*>(memory) + page);
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("a*exp(-b*x)", nullptr, 1, &model) == NLSQ_OK);
  const double p[] = {3, 0.5};
  for (const std::size_t rows : {1, 7, 15, 16, 17, 100, 300}) {
    CAPTURE(rows);
    std::vector<double> x(rows);
    for (std::size_t i = 0; i < rows; ++i) x[i] = static_cast<double>(i) / static_cast<double>(rows);
    const std::vector<double> exact = values_at(model, x, p);
    const nlsq_column column = nlsq_column_of(x.data(), rows);
    double* const values = std::copy(exact.begin(), exact.end(), end - rows) - rows;
    int answer = -1;
    REQUIRE(nlsq_model_agrees(model, &column, 1, rows, p, values, 1e-9, 1e-12, &answer) == NLSQ_OK);
    CHECK(answer == 1);
    values[rows - 1] *= 1 + 1e-8;
    REQUIRE(nlsq_model_agrees(model, &column, 1, rows, p, values, 1e-9, 1e-12, &answer) == NLSQ_OK);
    CHECK(answer == 0);
  }
  nlsq_model_free(model);
  munmap(memory, 2 * page);
}

TEST_CASE("values are not compared without rows of their number, parameters or a place for the answer") {
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("a*x", nullptr, 1, &model) == NLSQ_OK);
  const double p = 2, x[] = {1, 2, 3}, values[] = {2, 4, 6};
  const nlsq_column column = nlsq_column_of(x, 3);
  int answer = -1;
  CHECK(nlsq_model_agrees(model, &column, 1, 3, nullptr, values, 0, 0, &answer) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_model_agrees(model, &column, 1, 3, &p, nullptr, 0, 0, &answer) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_model_agrees(model, &column, 1, 3, &p, values, 0, 0, nullptr) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_model_agrees(model, &column, 1, 2, &p, values, 0, 0, &answer) == NLSQ_ERROR_ARGUMENT);
  CHECK(nlsq_model_agrees(model, &column, 1, 3, &p, values, 0, 0, &answer) == NLSQ_OK);
  CHECK(answer == 1);
  nlsq_model_free(model);
}

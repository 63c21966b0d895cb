// Tests fits from sums of blocks of rows through the C interface.
#include <doctest/doctest.h>

#include "c_interface.hpp"

#include <nlsq/nlsq.hpp>

#include <cmath>
#include <limits>
#include <utility>

using namespace nlsq_test;

namespace {

constexpr std::size_t n = 3;

// Holds rows of a decay, in blocks of `rows_of_block`, with the points and sums of a fit to them.
struct Blocks {
  Decay data{100};
  std::size_t rows_of_block;
  nlsq_model* model = nullptr;
  std::vector<double> points{1, 1, 1}, sums;

  explicit Blocks(std::size_t rows) : rows_of_block(rows) {
    REQUIRE(nlsq_model_text(kDecayFormula, nullptr, 1, &model) == NLSQ_OK);
  }
  ~Blocks() { nlsq_model_free(model); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // Adds the sums over all rows at the last point.
  void add_pass(const nlsq_options* options = nullptr) {
    std::vector<double> total(nlsq_sums_size(n), 0.0), part(total.size());
    for (std::size_t first = 0; first < data.x.size(); first += rows_of_block) {
      const std::size_t count = std::min(rows_of_block, data.x.size() - first);
      const nlsq_column x = nlsq_column_of(&data.x[first], count), y = nlsq_column_of(&data.y[first], count);
      REQUIRE(nlsq_model_sums(model, &x, 1, &y, &points[points.size() - n], options, part.data()) == NLSQ_OK);
      for (std::size_t k = 0; k < total.size(); ++k) total[k] += part[k];
    }
    sums.insert(sums.end(), total.begin(), total.end());
  }
  std::size_t passes() const { return points.size() / n; }
  // Returns the answer, which the caller frees.
  nlsq_result* solve(const nlsq_options* options = nullptr) {
    for (nlsq_result* result = nullptr;;) {
      add_pass();
      double next[n];
      REQUIRE(nlsq_solve_sums(points.data(), sums.data(), passes(), n, options, next, &result) == NLSQ_OK);
      if (result != nullptr) return result;
      points.insert(points.end(), next, next + n);
      REQUIRE(passes() < 50);
    }
  }
  int step(const nlsq_options* options = nullptr) {
    double next[n];
    nlsq_result* result = nullptr;
    const int status = nlsq_solve_sums(points.data(), sums.data(), passes(), n, options, next, &result);
    nlsq_result_free(result);
    return status;
  }
};

}  // namespace

TEST_CASE("the sums of blocks lead to the answer of the fit of all rows") {
  Blocks blocks(17);
  nlsq_result* const result = blocks.solve();
  nlsq_result* fit = nullptr;
  const nlsq_column x = blocks.data.cx(), y = blocks.data.cy();
  REQUIRE(nlsq_model_fit(blocks.model, &x, 1, &y, blocks.points.data(), nullptr, &fit) == NLSQ_OK);
  CHECK(number(result, "success") == 1);
  CHECK(number(result, "verdict") == NLSQ_CONVERGED);
  CHECK(number(result, "rows") == 100);
  CHECK(number(result, "rank") == 3);
  CHECK(number(result, "cost") == doctest::Approx(number(fit, "cost")).epsilon(1e-12));
  CHECK(blocks.passes() <= 10);
  for (const char* name : {"parameters", "std_errors", "covariance"}) {
    const std::vector<double> ours = array(result, name), wanted = array(fit, name);
    REQUIRE(ours.size() == wanted.size());
    for (std::size_t k = 0; k < ours.size(); ++k)
      CHECK(ours[k] == doctest::Approx(wanted[k]).epsilon(name[0] == 'p' ? 1e-9 : 1e-7));
  }
  nlsq_result_free(result);
  nlsq_result_free(fit);
}

TEST_CASE("threads change no bit of the sums, and the same sums give the same steps") {
  Blocks one(100), many(100);
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  REQUIRE(nlsq_options_set(options, "threads", "3") == NLSQ_OK);
  one.add_pass();
  many.add_pass(options);
  CHECK(one.sums == many.sums);
  one.sums.clear();
  many.sums.clear();
  nlsq_result *first = one.solve(), *second = many.solve();
  CHECK(one.points == many.points);
  CHECK(array(first, "parameters") == array(second, "parameters"));
  nlsq_result_free(first);
  nlsq_result_free(second);
  nlsq_options_free(options);
}

TEST_CASE("a fit from sums stays within its bounds") {
  Blocks blocks(40);
  nlsq_options* options = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  const double lower[] = {0, 0, 0.8}, upper[] = {10, 10, 10};
  REQUIRE(nlsq_options_set_array(options, "lower", lower, n) == NLSQ_OK);
  REQUIRE(nlsq_options_set_array(options, "upper", upper, n) == NLSQ_OK);
  nlsq_result* const result = blocks.solve(options);
  CHECK(number(result, "success") == 1);
  CHECK(array(result, "parameters")[2] == 0.8);
  CHECK(array(result, "active_mask") == std::vector<double>{0, 0, -1});
  nlsq_result_free(result);
  nlsq_options_free(options);
}

TEST_CASE("too few digits in the sums, and starts without values, are said and not certified") {
  Blocks blocks(50);
  nlsq_model_free(blocks.model);
  REQUIRE(nlsq_model_text("a*exp(-b*x) + c*exp(-b*x)*(1+1e-9*x)", nullptr, 1, &blocks.model) == NLSQ_OK);
  nlsq_result* result = blocks.solve();
  CHECK(number(result, "success") == 0);
  CHECK(text(result, "message").find("too few digits") != std::string::npos);
  CHECK(std::isnan(number(result, "decrement_sigma")));
  CHECK(std::isnan(array(result, "covariance")[0]));
  nlsq_result_free(result);

  Blocks undefined(50);
  nlsq_model_free(undefined.model);
  REQUIRE(nlsq_model_text("a*sqrt(b-x)+c", nullptr, 1, &undefined.model) == NLSQ_OK);
  result = undefined.solve();
  CHECK(number(result, "verdict") == NLSQ_FAILED);
  CHECK(text(result, "message").find("not finite at the starting values") != std::string::npos);
  nlsq_result_free(result);
}

namespace {

// Fits a line to 60 noisy rows in two blocks: `heavy` rows, and the others. The weight of the first block is
// `ratio` times that of the second.
nlsq_result* solve_line(std::size_t heavy, double ratio) {
  constexpr std::size_t rows = 60;
  std::vector<double> x, y, sigma;
  for (std::size_t i = 0; i < rows; ++i) {
    x.push_back(5 * std::fmod(0.618 * static_cast<double>(i + 1), 1.0));
    y.push_back(1.3 + 0.7 * x[i] + (i < heavy ? 0 : 1e-3 * std::sin(37.0 * static_cast<double>(i))));
    sigma.push_back(i < heavy ? 1e-3 / ratio : 1e-3);
  }
  nlsq_model* model = nullptr;
  REQUIRE(nlsq_model_text("a+b*x", nullptr, 1, &model) == NLSQ_OK);
  std::vector<double> points{1, 1}, sums, part(nlsq_sums_size(2));
  nlsq_result* result = nullptr;
  for (std::size_t pass = 1; result == nullptr; ++pass) {
    REQUIRE(pass < 50);
    sums.resize(pass * part.size(), 0.0);
    for (const auto [first, count] : {std::pair{std::size_t{0}, heavy}, std::pair{heavy, rows - heavy}}) {
      const nlsq_column cx = nlsq_column_of(&x[first], count), cy = nlsq_column_of(&y[first], count);
      const nlsq_column cs = nlsq_column_of(&sigma[first], count);
      nlsq_options* options = nullptr;
      REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
      REQUIRE(nlsq_options_set_column(options, "sigma", &cs) == NLSQ_OK);
      REQUIRE(nlsq_model_sums(model, &cx, 1, &cy, &points[2 * (pass - 1)], options, part.data()) == NLSQ_OK);
      nlsq_options_free(options);
      for (std::size_t k = 0; k < part.size(); ++k) sums[(pass - 1) * part.size() + k] += part[k];
    }
    points.resize(2 * (pass + 1));
    REQUIRE(nlsq_solve_sums(points.data(), sums.data(), pass, 2, nullptr, &points[2 * pass], &result) ==
            NLSQ_OK);
  }
  nlsq_model_free(model);
  return result;
}

}  // namespace

TEST_CASE("rows of heavy weight that hide the others leave no certificate") {
  for (const std::size_t heavy : {2, 3, 6}) {
    for (const double ratio : {1e3, 1e8, 1e13, 1e14}) {
      CAPTURE(heavy);
      CAPTURE(ratio);
      nlsq_result* const result = solve_line(heavy, ratio);
      CHECK(number(result, "success") == (ratio < 1e10 ? 1 : 0));
      nlsq_result_free(result);
    }
  }
  nlsq_result* const result = solve_line(2, 1e13);
  CHECK(text(result, "message").find("their rounding errors hide the rest") != std::string::npos);
  CHECK(number(result, "verdict") == NLSQ_BUDGET);
  nlsq_result_free(result);
}

TEST_CASE("mistakes about sums are told") {
  Blocks blocks(100);
  const nlsq_column x = blocks.data.cx(), y = blocks.data.cy();
  std::vector<double> out(nlsq_sums_size(n));
  const auto sums_with = [&](const char* name, const char* value) {
    nlsq_options* options = nullptr;
    REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
    REQUIRE(nlsq_options_set(options, name, value) == NLSQ_OK);
    const int of_rows = nlsq_model_sums(blocks.model, &x, 1, &y, blocks.points.data(), options, out.data());
    const int of_sums = blocks.step(options);
    nlsq_options_free(options);
    return std::pair(of_rows, of_sums);
  };
  blocks.add_pass();
  CHECK(blocks.step() == NLSQ_OK);
  for (const char* option : {"fix", "tie", "loss"}) {
    const char* value = option[0] == 'f' ? "a" : option[0] == 't' ? "c=2*a" : "huber";
    CHECK(sums_with(option, value) == std::pair<int, int>(NLSQ_ERROR_OPTION, NLSQ_ERROR_OPTION));
  }
  CHECK(sums_with("bounds", "a=0:5") == std::pair<int, int>(NLSQ_ERROR_OPTION, NLSQ_ERROR_OPTION));
  CHECK(sums_with("time_limit", "5").second == NLSQ_ERROR_OPTION);
  CHECK(sums_with("starts", "4").second == NLSQ_ERROR_OPTION);
  CHECK(sums_with("precision", "f32") == std::pair<int, int>(NLSQ_ERROR_OPTION, NLSQ_ERROR_OPTION));
  CHECK(sums_with("geodesic", "always").second == NLSQ_ERROR_OPTION);
  CHECK(sums_with("strict", "yes").second == NLSQ_ERROR_OPTION);
  CHECK(sums_with("variable_projection", "on").second == NLSQ_ERROR_OPTION);

  CHECK(nlsq_model_sums(blocks.model, &x, 1, &y, nullptr, nullptr, out.data()) == NLSQ_ERROR_ARGUMENT);
  const double wrong[] = {1, std::numeric_limits<double>::infinity(), 1};
  CHECK(nlsq_model_sums(blocks.model, &x, 1, &y, wrong, nullptr, out.data()) == NLSQ_ERROR_OPTION);
  const nlsq_column shorter = nlsq_column_of(blocks.data.x.data(), 99);
  CHECK(nlsq_model_sums(blocks.model, &shorter, 1, &y, blocks.points.data(), nullptr, out.data()) ==
        NLSQ_ERROR_DATA);

  blocks.sums[0] = 99.5;
  CHECK(blocks.step() == NLSQ_ERROR_DATA);
  blocks.sums[0] = 2;
  CHECK(blocks.step() == NLSQ_ERROR_DATA);  // fewer rows than parameters
  blocks.sums[0] = 100;
  blocks.points.insert(blocks.points.end(), {5, 5, 5});  // this is not the point that was asked for
  blocks.add_pass();
  CHECK(blocks.step() == NLSQ_ERROR_OPTION);
  CHECK(std::string(nlsq_last_error()).find("pass 1: its point was not asked for") != std::string::npos);
}

// Tests widths that enter a model as their square, and so may end with either sign. Fits report the sign of
// the start, with the statistics that belong to it, in every way of fitting.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr const char* kPeak = "h*exp(-(x-mu)^2/(2*s^2))+c";
constexpr const char* kArea = "a/(s*sqrt(2*pi))*exp(-(x-mu)^2/(2*s^2))+c";

// Holds a peak with a ripple instead of noise. From the width 5 at mu = 5, the fit crosses zero.
struct Data {
  std::vector<double> x, y;
  explicit Data(double height = 3, double width = 0.6) {
    for (int i = 0; i < 60; ++i) {
      x.push_back(i / 6.0);
      const double z = (x.back() - 4) / width;
      y.push_back(height * std::exp(-z * z / 2) + 1 + 0.05 * std::sin(997.0 * i));
    }
  }
};

const NamedValues kFar = {{"s", 5}, {"mu", 5}};

const auto kCallable = [](const auto& x, const auto& p) {
  using std::exp;
  const auto z = (x - p[1]) / p[2];
  return p[0] * exp(-0.5 * z * z) + p[3];
};

std::size_t place(const FitResult& fit, const std::string& name) {
  std::size_t j = 0;
  while (fit.parameter_names[j] != name) ++j;
  return j;
}

double value(const FitResult& fit, const std::string& name) { return fit.parameters[place(fit, name)]; }

// Returns true if the mirrored start leads to the mirrored end.
bool is_mirrored(const char* formula, const NamedValues& p0) {
  const Data data;
  const FitResult there = curve_fit(formula, data.x, data.y, p0);
  NamedValues negative = p0;
  for (auto& [name, start] : negative)
    if (name == "s") start = -start;
  const FitResult mirrored = curve_fit(formula, data.x, data.y, negative);
  return value(there, "s") > 0 && value(mirrored, "s") < 0 &&
         std::fabs(value(there, "s") + value(mirrored, "s")) < 1e-9;
}

void check_same(const FitResult& fit, const FitResult& wanted) {
  REQUIRE(fit.success());
  REQUIRE(wanted.success());
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    CHECK(fit.parameters[i] == doctest::Approx(wanted.parameters[i]).epsilon(1e-7));
    CHECK(fit.standard_errors[i] == doctest::Approx(wanted.standard_errors[i]).epsilon(1e-6));
    for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
      const double size = wanted.standard_errors[i] * wanted.standard_errors[j];
      CHECK(std::fabs(fit.covariance(i, j) - wanted.covariance(i, j)) <= 1e-6 * size);
    }
  }
}

}  // namespace

TEST_CASE("a width has the sign of its start, and the covariance belongs to it") {
  const Data data;
  for (const char* formula : {kPeak, kArea}) {
    CAPTURE(formula);
    const FitResult near = curve_fit(formula, data.x, data.y, {{"s", 0.5}, {"mu", 4}});
    REQUIRE(value(near, "s") > 0);
    check_same(curve_fit(formula, data.x, data.y, kFar), near);
    CHECK(is_mirrored(formula, kFar));
    for (const double s : {0.05, 3.0, 5.0, 8.0, 15.0}) {
      for (const double mu : {3.0, 3.7, 5.0, 6.0}) {
        const FitResult fit = curve_fit(formula, data.x, data.y, {{"s", s}, {"mu", mu}});
        if (fit.success()) CHECK(value(fit, "s") > 0);
      }
    }
  }
}

TEST_CASE("built-in, prepared and C++ models do as formulas do, losses and several starts, too") {
  const Data data;
  const FitResult near = curve_fit(kPeak, data.x, data.y, {{"s", 0.5}, {"mu", 4}});  // h, mu, s, c
  const NamedValues far = {{"h", 1}, {"mu", 5}, {"sigma", 5}, {"c", 0}};
  check_same(curve_fit(model("gaussian"), data.x, data.y, far), near);
  check_same(curve_fit(PreparedModel(model("gaussian")), data.x, data.y, far), near);
  check_same(curve_fit(PreparedModel(parse_formula(kPeak)), data.x, data.y, kFar), near);
  check_same(curve_fit(kCallable, data.x, data.y, {1, 5, 5, 0}), near);
  FitOptions options;
  options.starts = 5;
  const FitResult several = curve_fit(kPeak, data.x, data.y, kFar, options);
  CHECK(value(several, "s") > 0);
  for (const FitMinimum& minimum : several.minima)
    if (is_success(minimum.verdict)) CHECK(minimum.parameters[2] > 0);
  options = {};
  options.loss = Loss::soft_l1(1);
  check_same(curve_fit(kPeak, data.x, data.y, kFar, options),
             curve_fit(kPeak, data.x, data.y, {{"s", 0.5}, {"mu", 4}}, options));
}

TEST_CASE("a branch that the fit enters on its way counts, too") {
  const Data data;
  const auto stepped = [](const auto& x, const auto& p) {  // p[0] is 1 at the start and 3 at the end
    using std::exp;
    const auto z = (x - p[1]) / p[2];
    if (p[0] > 2.0) return p[3] + p[0] * exp(-0.5 * z * z);
    return p[0] * exp(-0.5 * z * z) + p[3] + 0.01;
  };
  const FitResult near = curve_fit(stepped, data.x, data.y, {3, 4, 0.5, 1});
  const std::vector<double> far = {1, 5, 5, 0};
  check_same(curve_fit(stepped, data.x, data.y, far), near);
  const PreparedModel prepared(make_model_function(stepped), data.x, far);
  check_same(curve_fit(prepared, data.x, data.y, far), near);
  Matrix start(1, 4);
  for (std::size_t j = 0; j < 4; ++j) start(0, j) = far[j];
  const BatchResult fits = curve_fit_batch(prepared, ColumnPerFit(Column(data.x)),
                                           ColumnPerFit(std::vector<Column>{Column(data.y)}), start);
  CHECK(fits.success());
  CHECK(fits.parameters(0, 2) == doctest::Approx(near.parameters[2]));
}

TEST_CASE("a sum of models: each width has the sign of its start") {
  Data data;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    const double z = (data.x[i] - 7) / 0.4;
    data.y[i] += 2 * std::exp(-z * z / 2) + 0.3 * data.x[i];
  }
  const Model& sum = model("2*gaussian + linear");
  const FitResult guessed = curve_fit(sum, data.x, data.y);
  int same = 0;
  for (const double s : {0.3, 1.0, 2.0, 4.0}) {
    const FitResult fit = curve_fit(sum, data.x, data.y, {{"g1_sigma", s}, {"g2_sigma", s}});
    if (!fit.success()) continue;  // this is too far
    CHECK(value(fit, "g1_sigma") > 0);
    CHECK(value(fit, "g2_sigma") > 0);
    if (std::fabs(fit.rss - guessed.rss) > 1e-6 * guessed.rss) continue;  // this is another minimum
    ++same;
    check_same(fit, guessed);
  }
  CHECK(same > 0);
}

TEST_CASE("a sign that the user chose stays: by a negative start, bounds, or a fixed companion") {
  const Data data;
  CHECK(value(curve_fit(kPeak, data.x, data.y, {{"s", -0.5}, {"mu", 4}}), "s") < 0);
  FitOptions options;
  options.bounds.lower = {-100, -100, -100, -100};
  options.bounds.upper = {100, 100, 100, 100};
  const FitResult bounded = curve_fit(kPeak, data.x, data.y, kFar, options);
  const FitResult free = curve_fit(kPeak, data.x, data.y, kFar);
  CHECK(bounded.success());
  CHECK(std::fabs(value(bounded, "s")) == doctest::Approx(value(free, "s")));
  options = {};
  options.fixed = {"a"};  // with a < 0 fixed, the upright peak has s < 0
  const FitResult held = curve_fit(kArea, data.x, data.y, {{"a", -4.5}, {"s", -1}, {"mu", 4}}, options);
  CHECK(value(held, "s") < 0);
  CHECK(value(held, "a") == -4.5);
}

TEST_CASE("tied parameters follow the sign of the one that they are tied to") {
  const Data data;
  FitOptions options;
  options.ties = {"w=2*s"};
  const char* formula = "h*exp(-(x-mu)^2/(2*s^2))+k*exp(-(x-mu)^2/(2*w^2))+c";
  const FitResult fit = curve_fit(formula, data.x, data.y, kFar, options);
  const FitResult near = curve_fit(formula, data.x, data.y, {{"s", 0.5}, {"mu", 4}}, options);
  CHECK(value(fit, "w") == 2 * value(fit, "s"));
  check_same(fit, near);
}

TEST_CASE("batches, in lanes or alone, and groups") {
  std::vector<Data> all;
  std::vector<double> x, y, group;
  for (int k = 0; k < 64; ++k) {
    all.emplace_back(2 + 0.03 * k, 0.5 + 0.003 * k);
    x.insert(x.end(), all.back().x.begin(), all.back().x.end());
    y.insert(y.end(), all.back().y.begin(), all.back().y.end());
    group.insert(group.end(), all.back().x.size(), k);
  }
  std::vector<Column> columns;
  for (const Data& data : all) columns.emplace_back(data.y);
  Matrix start(1, 4);
  start(0, 0) = 1, start(0, 1) = 5, start(0, 2) = 5, start(0, 3) = 0;  // h, mu, s, c
  for (const bool in_lanes : {true, false}) {
    CAPTURE(in_lanes);
    BatchOptions options;
    options.in_lanes = in_lanes;
    for (const PreparedModel& model :
         {PreparedModel(parse_formula(kPeak)),
          PreparedModel(make_model_function(kCallable), all[0].x, {1, 5, 5, 0})}) {
      const BatchResult fits =
          curve_fit_batch(model, ColumnPerFit(Column(all[0].x)), ColumnPerFit(columns), start, options);
      CHECK(fits.success());
      CHECK((fits.in_lanes > 0) == in_lanes);
      for (std::size_t k = 0; k < 64; ++k) CHECK(fits.parameters(k, 2) > 0);
    }
  }
  const PreparedModel area(parse_formula(kArea));  // a, s, mu, c
  const GroupsResult groups = curve_fit_groups(area, x, y, group, kFar);
  CHECK(groups.succeeded == 64);
  for (std::size_t k = 0; k < 64; ++k) {
    CHECK(groups.parameters(k, 0) > 0);
    CHECK(groups.parameters(k, 1) > 0);
  }
}

TEST_CASE("joint fits of groups: shared widths and own ones") {
  const PreparedModel area(parse_formula(kArea));
  std::vector<double> x, y, group;
  for (int k = 0; k < 4; ++k) {
    const Data data(2 + 0.5 * k, 0.6);
    x.insert(x.end(), data.x.begin(), data.x.end());
    y.insert(y.end(), data.y.begin(), data.y.end());
    group.insert(group.end(), data.x.size(), k);
  }
  for (const char* shared : {"s", "c"}) {
    CAPTURE(shared);
    GroupOptions options;
    options.share = {shared};
    const GroupsResult far = curve_fit_groups(area, x, y, group, kFar, options);
    const GroupsResult near = curve_fit_groups(area, x, y, group, {{"s", 0.5}, {"mu", 4}}, options);
    const GroupsResult mirrored = curve_fit_groups(area, x, y, group, {{"s", -0.5}, {"mu", 4}}, options);
    CHECK(far.succeeded == 4);
    CHECK(near.succeeded == 4);
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t j = 0; j < 4; ++j) {
        CHECK(far.parameters(k, j) == doctest::Approx(near.parameters(k, j)).epsilon(1e-6));
        CHECK(far.standard_errors(k, j) == doctest::Approx(near.standard_errors(k, j)).epsilon(1e-5));
      }
      CHECK(near.parameters(k, 1) > 0);
      CHECK(mirrored.parameters(k, 0) < 0);
      CHECK(mirrored.parameters(k, 1) < 0);
    }
  }
}

// Tests fits with a full covariance of y against SciPy's curve_fit (sigma_matrix_scipy.json, by the script of
// that name) and in cases with known answers, and checks what is refused.
#include <nlohmann/json.hpp>

#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y, sigma;
};
Data data(std::size_t rows = 30) {
  Data d;
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(4 * static_cast<double>(i) / static_cast<double>(rows));
    d.y.push_back(3 * std::exp(-1.3 * d.x.back()) + 0.5 + 0.05 * std::sin(7.0 * static_cast<double>(i * i)));
    d.sigma.push_back(0.03 + 0.01 * static_cast<double>(i % 4));
  }
  return d;
}
Matrix diagonal(const std::vector<double>& sigma) {
  Matrix C(sigma.size(), sigma.size());
  for (std::size_t i = 0; i < sigma.size(); ++i) C(i, i) = sigma[i] * sigma[i];
  return C;
}
Matrix correlated(const std::vector<double>& sigma, double keeps) {
  Matrix C = diagonal(sigma);
  for (std::size_t i = 0; i < sigma.size(); ++i) {
    for (std::size_t j = 0; j < sigma.size(); ++j)
      C(i, j) = std::pow(keeps, std::fabs(double(i) - double(j))) * sigma[i] * sigma[j];
  }
  return C;
}

}  // namespace

TEST_CASE(
    "a full covariance of y: SciPy's parameters and covariances, by formula, callable and prepared model") {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/sigma_matrix_scipy.json");
  REQUIRE(stream);
  int compared = 0;
  for (const auto& e : nlohmann::json::parse(stream)) {
    const std::string formula = e.at("formula"), name = e.at("name");
    const auto x = e.at("x").get<std::vector<double>>(), y = e.at("y").get<std::vector<double>>(),
               start = e.at("start").get<std::vector<double>>(),
               p = e.at("parameters").get<std::vector<double>>();
    FitOptions options;
    options.absolute_sigma = e.at("absolute");
    options.sigma_matrix = Matrix(x.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) options.sigma_matrix(i, j) = e.at("covariance")[i][j];
    }
    NamedValues p0;
    for (std::size_t j = 0; j < start.size(); ++j)
      p0.emplace_back(std::string(1, static_cast<char>('a' + j)), start[j]);
    std::vector<FitResult> fits{curve_fit(formula, x, y, p0, options),
                                curve_fit(PreparedModel(formula), x, y, p0, options)};
    if (name == "decay") {
      fits.push_back(curve_fit(decay, x, y, start, options));
      fits.push_back(
          curve_fit([](double t, std::span<const double> q) { return decay(t, q); }, x, y, start, options));
      CHECK(fits.back().summary.evaluator == "finite differences");
    }
    for (const FitResult& fit : fits) {
      CAPTURE(fit.summary.evaluator);
      CHECK(fit.success());
      CHECK(fit.summary.certificate.recheck_passed);
      CHECK(fit.rss == doctest::Approx(e.at("squares").get<double>()).epsilon(1e-9));
      for (std::size_t i = 0; i < p.size(); ++i) {
        CHECK(fit.parameters[i] == doctest::Approx(p[i]).epsilon(1e-7));
        for (std::size_t j = 0; j < p.size(); ++j) {
          CHECK(std::fabs(fit.covariance(i, j) - e.at("of_parameters")[i][j].get<double>()) <=
                1e-5 * fit.standard_errors[i] * fit.standard_errors[j]);
        }
      }
    }
    ++compared;
  }
  CHECK(compared == 4);
}

TEST_CASE(
    "a diagonal covariance is sigma; whitening by hand is the same fit; bounds, ties, starts and intervals "
    "go with it") {
  const Data d = data();
  FitOptions by_sigma, by_matrix;
  by_sigma.sigma = d.sigma;
  by_matrix.sigma_matrix = diagonal(d.sigma);
  const auto fit = [&](const FitOptions& options) {
    return curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"b", 1}}, options);
  };
  const auto same = [](const FitResult& a, const FitResult& b) {
    CHECK(a.success());
    CHECK(b.success());
    for (std::size_t j = 0; j < a.parameters.size(); ++j) {
      CHECK(b.parameters[j] == doctest::Approx(a.parameters[j]).epsilon(1e-9));
      CHECK(b.at_bound[j] == a.at_bound[j]);
      if (!a.at_bound[j]) CHECK(b.standard_errors[j] == doctest::Approx(a.standard_errors[j]).epsilon(1e-7));
    }
    CHECK(b.rss == doctest::Approx(a.rss).epsilon(1e-9));
    CHECK(b.r_squared == doctest::Approx(a.r_squared).epsilon(1e-9));
    CHECK(b.dof == a.dof);
  };
  same(fit(by_sigma), fit(by_matrix));
  by_sigma.bounds = by_matrix.bounds = {0, {10, 1.2, 10}};
  by_sigma.starts = by_matrix.starts = 3;
  same(fit(by_sigma), fit(by_matrix));
  by_sigma.bounds = by_matrix.bounds = {};
  by_sigma.ties = by_matrix.ties = {"c=a/6"};
  same(fit(by_sigma), fit(by_matrix));
  by_sigma.ties = by_matrix.ties = {};
  by_sigma.starts = by_matrix.starts = 1;
  const ProfileIntervals a = profile_intervals("a*exp(-b*x)+c", Columns(d.x), d.y, fit(by_sigma), by_sigma);
  const ProfileIntervals b = profile_intervals("a*exp(-b*x)+c", Columns(d.x), d.y, fit(by_matrix), by_matrix);
  for (std::size_t j = 0; j < 3; ++j)
    CHECK(b.intervals[j].lower == doctest::Approx(a.intervals[j].lower).epsilon(1e-7));

  // Each error keeps 0.6 of the error of the row before. Then e_i - 0.6 s_i/s_{i-1} e_{i-1} are independent,
  // with 0.8 of the deviation.
  by_matrix.sigma_matrix = correlated(d.sigma, 0.6);
  const FitResult whitened = fit(by_matrix);
  const LeastSquaresResult by_hand = least_squares(
      [&](const auto& p) {
        std::vector<std::decay_t<decltype(p[0] * 1.0)>> r, e;
        for (std::size_t i = 0; i < d.x.size(); ++i) {
          e.push_back((decay(d.x[i], p) - d.y[i]) / d.sigma[i]);
          if (i == 0) r.push_back(e[0]);
          else r.push_back((e[i] - 0.6 * e[i - 1]) / 0.8);
        }
        return r;
      },
      {3.0, 1.0, 0.5});
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(whitened.parameters[j] == doctest::Approx(by_hand.x[j]).epsilon(1e-9));
    CHECK(whitened.standard_errors[j] == doctest::Approx(by_hand.standard_errors[j]).epsilon(1e-7));
  }
  for (const char* policy : {"auto", "f32", "strict"}) {
    by_matrix.precision = PrecisionPolicy::parse(policy);
    CHECK(fit(by_matrix).parameters[1] == doctest::Approx(whitened.parameters[1]).epsilon(1e-9));
  }
}

TEST_CASE("branches that some rows alone take are found through the covariance, too") {
  const Data d = data();
  FitOptions options;
  options.sigma_matrix = correlated(d.sigma, 0.7);
  // Only row 2 with x = 0.267 is in this branch. No model is recorded there before the first pass.
  const auto jump = [](const auto& x, const auto& p) {
    return x > 0.2 && x < 0.3 ? decay(x, p) + 0.1 * p[0] : decay(x, p);
  };
  const FitResult recorded = curve_fit(jump, d.x, d.y, {2.0, 1.0, 0.0}, options);
  const FitResult called = curve_fit(untraced(jump), d.x, d.y, {2.0, 1.0, 0.0}, options);
  CHECK(recorded.summary.evaluator == "graph");
  CHECK(called.summary.evaluator == "dual");
  CHECK(recorded.success());
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(recorded.parameters[j] == doctest::Approx(called.parameters[j]).epsilon(1e-9));
    CHECK(recorded.standard_errors[j] == doctest::Approx(called.standard_errors[j]).epsilon(1e-7));
  }
  // If a model is not defined in one row, the message names that row.
  const auto undefined = [](const auto& x, const auto& p) {
    using std::log;
    return p[0] * log(x - p[1]) + p[2];
  };
  const FitResult failed = curve_fit(undefined, d.x, d.y, {1.0, 1.0, 0.0}, options);
  CHECK_FALSE(failed.success());
  CHECK(failed.summary.termination == Termination::failure);
}

TEST_CASE("several hundred correlated rows, on one thread and two, give the same bits") {
  const Data d = data(700);
  FitOptions options;
  options.sigma_matrix = correlated(d.sigma, 0.9);
  options.threads = 1;
  const FitResult one = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, options);
  options.threads = 2;
  const FitResult two = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, options);
  CHECK(one.success());
  CHECK(one.parameters == two.parameters);
  CHECK(one.standard_errors == two.standard_errors);
}

TEST_CASE("a matrix that is not a covariance is refused, with the row and column") {
  const Data d = data(8);
  const auto message = [&](auto change) {
    FitOptions options;
    options.sigma_matrix = correlated(d.sigma, 0.5);
    change(options);
    return message_of<ValidationError>([&] { curve_fit("a+b*x", d.x, d.y, {}, options); });
  };
  CHECK(contains(message([](FitOptions& o) { o.sigma_matrix = Matrix(8, 7, 1.0); }), "8 x 7, y has 8 rows"));
  CHECK(contains(message([](FitOptions& o) { o.sigma_matrix(2, 5) *= 1.01; }),
                 "not symmetric: row 5, column 2"));
  CHECK(contains(
      message([](FitOptions& o) { o.sigma_matrix(3, 1) = std::numeric_limits<double>::quiet_NaN(); }),
      "row 3, column 1 is nan"));
  CHECK(contains(message([](FitOptions& o) { o.sigma_matrix(4, 4) = -1; }),
                 "not positive definite: at row 4, column 4"));
  // Row 6 equals row 2.
  CHECK(contains(message([](FitOptions& o) {
                   for (std::size_t j = 0; j < 8; ++j)
                     o.sigma_matrix(6, j) = o.sigma_matrix(j, 6) = o.sigma_matrix(2, j);
                   o.sigma_matrix(6, 6) = o.sigma_matrix(2, 2);
                 }),
                 "at row 6, column 6"));
  CHECK(contains(message([&](FitOptions& o) { o.sigma = d.sigma; }), "leave sigma"));
  CHECK(contains(message([](FitOptions& o) { o.loss = Loss::huber(1); }), "loss"));
  FitOptions options;
  options.sigma_matrix = correlated(d.sigma, 0.5);
  CHECK(contains(message_of<ValidationError>([&] { curve_fit("log(y) = a+b*x", d.x, d.y, {}, options); }),
                 "left side"));
  BatchOptions batch;
  static_cast<FitOptions&>(batch) = options;
  CHECK(contains(message_of<ValidationError>(
                     [&] { curve_fit_batch("a+b*x", d.x, Matrix(2, 8, 1.0), Matrix(1, 2), batch); }),
                 "sigma_matrix"));
}

// Compares standard errors, covariances, AIC, BIC and bands of fits to 21 published data sets with SciPy and
// lmfit (published_statistics.json) and with R (published_statistics_r.json). The scripts of those names
// wrote the files. Six digits have to agree.
#include <nlohmann/json.hpp>

#include <nlsq/nlsq.hpp>

#include "nist.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kSixDigits = 5e-7;

struct Rows {
  std::vector<double> x, y;
};

Rows rows_of(const nlohmann::json& e) {
  const std::string file = e.at("file");
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/data/" + file);
  REQUIRE(stream);
  Rows rows;
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    const auto fields = nist::detail::fields(line);
    if (!e.at("group").is_null() && nist::detail::number(fields[2], file) != e.at("group").get<double>())
      continue;
    rows.x.push_back(nist::detail::number(fields[0], file));
    rows.y.push_back(nist::detail::number(fields[1], file));
  }
  return rows;
}

// Holds the largest relative differences.
struct Largest {
  double parameters = 0, errors = 0, covariance = 0, criteria = 0, bands = 0;
};

double relative(double a, double b) { return std::fabs(a - b) / std::fabs(b); }

void compare_covariance(const nlohmann::json& e, const FitResult& fit, Largest& largest) {
  const auto& C = e.at("covariance");
  std::vector<std::size_t> place;  // the place in the fit of each parameter of the file
  for (const std::string& name : e.at("parameters").get<std::vector<std::string>>())
    place.push_back(
        static_cast<std::size_t>(std::ranges::find(fit.parameter_names, name) - fit.parameter_names.begin()));
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    const double error = std::sqrt(C[i][i].get<double>());
    largest.errors = std::max(largest.errors, relative(fit.standard_errors[place[i]], error));
    largest.parameters = std::max(largest.parameters, relative(fit.parameters[place[i]], e.at("values")[i]));
    for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
      const double size = error * std::sqrt(C[j][j].get<double>());
      largest.covariance = std::max(
          largest.covariance, std::fabs(fit.covariance(place[i], place[j]) - C[i][j].get<double>()) / size);
    }
  }
}

// Holds the terms that another program adds to our AIC and BIC.
struct Convention {
  double to_aic, to_bic;
};

// lmfit does not count the variance as a parameter, so its AIC is less by 2, and its BIC by ln m.
Convention of_lmfit(const nlohmann::json&, double m) { return {-2, -std::log(m)}; }

// R keeps the constants of the normal distribution, including those of the weights.
Convention of_r(const nlohmann::json& e, double m) {
  const double constants = m * (1 + std::log(2 * std::numbers::pi)) - e.at("log_weights").get<double>();
  return {constants, constants};
}

void compare_criteria(const nlohmann::json& e, const FitResult& fit, Convention convention,
                      Largest& largest) {
  for (const auto& [ours, theirs] : {std::pair(fit.aic + convention.to_aic, e.at("aic").get<double>()),
                                     std::pair(fit.bic + convention.to_bic, e.at("bic").get<double>()),
                                     std::pair(fit.rss, e.at("chisqr").get<double>())})
    largest.criteria = std::max(largest.criteria, relative(ours, theirs));
}

void compare_bands(const nlohmann::json& e, const Prediction& p, Largest& largest) {
  const bool of_a_new_row = !e.at("of_a_new_row").is_null();
  for (std::size_t i = 0; i < p.fit.size(); ++i) {
    const double half = (p.confidence_high[i] - p.confidence_low[i]) / 2;
    largest.bands = std::max(largest.bands, relative(half, e.at("half_width")[i]));
    if (!of_a_new_row) continue;
    const double whole = (p.prediction_high[i] - p.prediction_low[i]) / 2;
    largest.bands = std::max(largest.bands, relative(whole, e.at("of_a_new_row")[i]));
  }
}

// Fits every problem of a file of figures and compares them.
void compare_all(const std::string& file, Convention (*convention_of)(const nlohmann::json&, double)) {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/published/" + file);
  REQUIRE(stream);
  int compared = 0;
  for (const auto& e : nlohmann::json::parse(stream)) {
    const std::string name = e.at("name"), text = e.at("formula");
    CAPTURE(name);
    const Rows rows = rows_of(e);
    FitOptions options;
    std::vector<double> sigma;
    if (!e.at("sigma").is_null()) {
      REQUIRE(e.at("sigma") == "0.05*y");
      for (const double y : rows.y) sigma.push_back(0.05 * y);
      options.sigma = sigma;
    }
    NamedValues p0;
    for (std::size_t j = 0; j < e.at("start").size(); ++j)
      p0.emplace_back(e.at("parameters")[j].get<std::string>(), e.at("start")[j].get<double>());
    const PreparedModel model{std::string_view(text)};
    const FitResult fit = curve_fit(model, rows.x, rows.y, p0, options);
    REQUIRE(fit.success());
    Largest largest;
    compare_covariance(e, fit, largest);
    compare_criteria(e, fit, convention_of(e, static_cast<double>(fit.rows)), largest);
    compare_bands(e, predict(model, e.at("at").get<std::vector<double>>(), fit, options), largest);
    CHECK(largest.parameters < kSixDigits);
    CHECK(largest.errors < kSixDigits);
    CHECK(largest.covariance < kSixDigits);
    CHECK(largest.criteria < kSixDigits);
    CHECK(largest.bands < kSixDigits);
    fmt::print(
        "{:<20} parameters {:.0e}, standard errors {:.0e}, covariance {:.0e}, criteria {:.0e}, bands "
        "{:.0e}\n",
        name, largest.parameters, largest.errors, largest.covariance, largest.criteria, largest.bands);
    ++compared;
  }
  CHECK(compared == 21);
}

}  // namespace

TEST_CASE("SciPy's standard errors and covariances, lmfit's AIC, BIC and bands, to six digits") {
  compare_all("published_statistics.json", of_lmfit);
}

TEST_CASE("R's standard errors, covariances, AIC, BIC and bands, to six digits") {
  compare_all("published_statistics_r.json", of_r);
}

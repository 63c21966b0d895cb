// Checks that the data sets under data/ are unchanged, and that fits by built-in models without a start agree
// with the literature.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "nist.hpp"

namespace {

using Table = std::vector<std::vector<double>>;  // columns

Table read(const std::string& name) {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/data/" + name);
  REQUIRE(stream);
  std::string line;
  std::getline(stream, line);
  Table columns(nist::detail::fields(line).size());
  while (std::getline(stream, line)) {
    const auto row = nist::detail::fields(line);
    REQUIRE(row.size() == columns.size());
    for (std::size_t k = 0; k < row.size(); ++k) columns[k].push_back(nist::detail::number(row[k], name));
  }
  return columns;
}

// Returns the rows whose third column has the given value.
Table group(const Table& table, double value) {
  Table rows(2);
  for (std::size_t i = 0; i < table[0].size(); ++i)
    if (table[2][i] == value) rows[0].push_back(table[0][i]), rows[1].push_back(table[1][i]);
  return rows;
}

nlsq::FitResult fit(const char* model, const Table& data) {
  const nlsq::FitResult result = nlsq::curve_fit(nlsq::model(model), data[0], data[1]);
  CHECK(result.success());
  CHECK(result.warnings.empty());
  return result;
}

}  // namespace

TEST_CASE("decay: the fit of the weight loss is that of Venables and Ripley") {
  const nlsq::FitResult result = fit("exp", read("decay.csv"));
  CHECK(result.rows == 52);
  CHECK(result.parameters[0] == doctest::Approx(102.684).epsilon(1e-5));
  CHECK(std::log(2) / result.parameters[1] == doctest::Approx(141.911).epsilon(1e-5));
  CHECK(result.parameters[2] == doctest::Approx(81.374).epsilon(1e-5));
  CHECK(result.rss == doctest::Approx(39.2447).epsilon(1e-6));
}

TEST_CASE("puromycin: Michaelis-Menten constants of the treated cells as Bates and Watts report them") {
  const nlsq::FitResult result = fit("michaelis_menten", group(read("puromycin.csv"), 1));
  CHECK(result.rows == 12);
  CHECK(result.parameters[0] == doctest::Approx(212.7).epsilon(1e-3));
  CHECK(result.parameters[1] == doctest::Approx(0.06412).epsilon(1e-3));
  CHECK(result.rss == doctest::Approx(1195.449).epsilon(1e-5));
}

TEST_CASE("oxygen demand: the fit Bates and Watts report") {
  const Table data = read("oxygen_demand.csv");
  const nlsq::FitResult result =
      nlsq::curve_fit("a*(1-exp(-b*x))", data[0], data[1], {{"a", 20}, {"b", 0.24}});
  CHECK(result.success());
  CHECK(result.parameters[0] == doctest::Approx(19.143).epsilon(1e-4));
  CHECK(result.parameters[1] == doctest::Approx(0.5311).epsilon(1e-4));
  CHECK(result.rss == doctest::Approx(25.99).epsilon(1e-3));
}

TEST_CASE("planets: Kepler's third law") {
  const nlsq::FitResult result = fit("power", read("planets.csv"));
  CHECK(result.parameters[0] == doctest::Approx(1).epsilon(3e-3));
  CHECK(result.parameters[1] == doctest::Approx(1.5).epsilon(1e-3));
}

TEST_CASE("Nottingham's temperatures: the period of the fitted sine is twelve months") {
  const nlsq::FitResult result = fit("sine", read("nottingham_temperature.csv"));
  CHECK(result.parameters[1] == doctest::Approx(1.0 / 12).epsilon(5e-3));
  CHECK(result.parameters[3] == doctest::Approx(48.65).epsilon(1e-3));
}

TEST_CASE("orange trees and census: logistic growth") {
  const Table trees = read("orange_trees.csv");
  for (double tree = 1; tree <= 5; ++tree) {
    const Table data = group(trees, tree);
    CHECK(data[0].size() == 7);
    const nlsq::FitResult result = fit("logistic", data);
    CHECK(result.r_squared > 0.98);
  }
  CHECK(fit("logistic", read("us_population.csv")).r_squared > 0.997);
}

// Subjects 2 and 5 do not determine five parameters. Their best fits have a rate at zero or at infinity.
TEST_CASE("indomethacin: two decays to a plateau in four subjects of six") {
  const Table data = read("indomethacin.csv");
  CHECK(data[0].size() == 66);
  for (const double subject : {1.0, 3.0, 4.0, 6.0}) {
    const Table rows = group(data, subject);
    CHECK(rows[0].size() == 11);
    const nlsq::FitResult result = fit("biexp", rows);
    CHECK(result.r_squared > 0.98);
  }
}

TEST_CASE("mercury: the heat of vaporisation from Arrhenius' law") {
  Table data = read("mercury_pressure.csv");
  for (double& celsius : data[0]) celsius += 273.15;
  const nlsq::FitResult result = fit("arrhenius", data);
  CHECK(result.parameters[1] ==
        doctest::Approx(59e3).epsilon(0.05));  // handbook: 59.1 kJ/mol at the boiling point
  CHECK(result.r_squared > 0.999);
}

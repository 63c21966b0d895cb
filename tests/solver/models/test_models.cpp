// Tests the registry of built-in models. Its rows must be complete and agree with their formulas.
#include <doctest/doctest.h>

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

nlsq::Formula parsed(const nlsq::Model& model) {
  nlsq::FormulaOptions options;
  if (model.predictors > 1) {
    options.predictors.clear();
    for (int k = 1; k <= model.predictors; ++k) options.predictors.push_back("x" + std::to_string(k));
  }
  return nlsq::parse_formula(model.formula, options);
}

double middle(const nlsq::TrialRange& range) {
  return range.logarithmic ? std::copysign(std::sqrt(range.low * range.high), range.low)
                           : (range.low + range.high) / 2;
}

}  // namespace

TEST_CASE("every row names its parameters in the formula's order of first appearance") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    CHECK(parsed(model).parameters == model.parameters);
  }
}

TEST_CASE("every row has a description, a meaning with units and a trial range for each parameter") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    CHECK(!model.description.empty());
    CHECK(model.meaning.size() == model.parameters.size());
    CHECK(model.trials.size() == model.parameters.size());
    CHECK(model.trial_x.low < model.trial_x.high);
    for (const std::string& meaning : model.meaning) CHECK(meaning.size() > 8);
    for (const nlsq::TrialRange& range : model.trials) {
      CHECK(range.low < range.high);
      if (range.logarithmic) CHECK(range.low * range.high > 0);
    }
  }
}

TEST_CASE("names and aliases are unique and all found") {
  std::set<std::string> names;
  for (const nlsq::Model& model : nlsq::models()) {
    CHECK(names.insert(model.name).second);
    CHECK(nlsq::model(model.name).formula == model.formula);
    for (const std::string& alias : model.aliases) {
      CHECK(names.insert(alias).second);
      CHECK(&nlsq::model(alias) == &model);
    }
  }
}

TEST_CASE("the models users are promised are there") {
  for (const char* name :
       {"constant", "linear", "poly2", "poly3", "poly4", "poly5", "poly9", "exp", "exp0", "biexp", "power",
        "gaussian", "lorentzian", "logistic", "michaelis_menten", "sine", "logistic4", "hill"}) {
    CAPTURE(name);
    CHECK_NOTHROW(nlsq::model(name));
  }
}

TEST_CASE("every model is finite inside its trial ranges") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    const nlsq::Formula formula = parsed(model);
    std::vector<double> p;
    for (const nlsq::TrialRange& range : model.trials) p.push_back(middle(range));
    for (int i = 0; i <= 20; ++i) {
      const double x = model.trial_x.low + (model.trial_x.high - model.trial_x.low) * i / 20;
      const std::vector<double> row(static_cast<std::size_t>(model.predictors), x);
      CHECK(std::isfinite(formula.evaluate(row, p)));
    }
  }
}

TEST_CASE("formulas are what their names say, by hand") {
  const auto value = [](const char* name, std::vector<double> p, double x) {
    return parsed(nlsq::model(name)).evaluate({&x, 1}, p);
  };
  CHECK(value("exp", {2, std::log(2.0), 1}, 3) == doctest::Approx(1.25));
  CHECK(value("exp_rise", {4, std::log(2.0), 1}, 1) == doctest::Approx(3));
  CHECK(value("gaussian", {3, 5, 2, 1}, 5) == doctest::Approx(4));
  CHECK(value("gaussian", {3, 5, 2, 0}, 5 + 2 * std::sqrt(2 * std::log(2.0))) == doctest::Approx(1.5));
  CHECK(value("lorentzian", {3, 5, 2, 0}, 7) == doctest::Approx(1.5));
  CHECK(value("pseudo_voigt", {3, 0.3, 5, 2, 0}, 7) == doctest::Approx(1.5));
  CHECK(value("pearson7", {3, 2.5, 5, 2, 0}, 7) == doctest::Approx(1.5));
  CHECK(value("voigt", {3, 5, 0.7, 0.4, 1}, 5) == doctest::Approx(4));
  CHECK(value("logistic", {6, 2, 3, 1}, 3) == doctest::Approx(4));
  CHECK(value("logistic4", {1, 9, 2, 5}, 5) == doctest::Approx(5));
  CHECK(value("logistic4", {1, 9, 2, 5}, 0) == doctest::Approx(1));
  CHECK(value("michaelis_menten", {8, 2}, 2) == doctest::Approx(4));
  CHECK(value("langmuir", {8, 0.5}, 2) == doctest::Approx(4));
  CHECK(value("sine", {2, 0.25, 0, 1}, 1) == doctest::Approx(3));
  CHECK(value("poly5", {1, 1, 1, 1, 1, 1}, 2) == doctest::Approx(63));
  CHECK(value("biexp", {1, 1, 2, 0.5, 3}, 0) == doctest::Approx(6));
  CHECK(value("fano", {2, 0, 1, 3, 1}, 3) == doctest::Approx(1));
  CHECK(value("emg", {1, 1e-3, 0, 1, 0}, 0) == doctest::Approx(0.398942).epsilon(1e-3));
}

TEST_CASE("x = 0 is no trap: values and derivatives are finite there where the model has a value") {
  for (const char* name : {"stretched_exp", "weibull_growth", "weibull_pdf", "logistic4", "logistic5",
                           "power", "power_offset", "michaelis_menten", "langmuir"}) {
    CAPTURE(name);
    const nlsq::Model& model = nlsq::model(name);
    nlsq::Formula formula = parsed(model);
    std::vector<double> p;
    std::vector<int> all;
    for (const nlsq::TrialRange& range : model.trials) {
      p.push_back(range.low + 0.3 * (range.high - range.low));  // exponents below 1 are among them
      all.push_back(static_cast<int>(all.size()));
    }
    if (std::string(name).starts_with("power")) p[1] = 0.5;
    if (std::string(name) == "weibull_pdf") p[1] = 1.5;
    const std::vector<double> zero = {0.0, 0.0};
    CHECK(std::isfinite(nlsq::evaluate(formula.graph, formula.model, zero, p)));
    for (const nlsq::NodeId derivative : nlsq::differentiate(formula.graph, formula.model, all))
      CHECK(std::isfinite(nlsq::evaluate(formula.graph, derivative, zero, p)));
  }
}

TEST_CASE("area variants have the area they are given") {
  for (const char* name :
       {"gaussian_area", "voigt_area", "lorentzian_area", "lognormal", "weibull_pdf", "emg"}) {
    CAPTURE(name);
    const nlsq::Model& model = nlsq::model(name);
    const nlsq::Formula formula = parsed(model);
    std::vector<double> p;
    for (const nlsq::TrialRange& range : model.trials) p.push_back(middle(range));
    for (std::size_t j = 0; j < p.size(); ++j)
      if (model.parameters[j] == "c") p[j] = 0;
    const bool positive = model.trial_x.low > 0;
    double area = 0;
    const double step = 0.01;  // by the midpoint rule; the Lorentzian tails beyond 4000 have 1e-4 of the area
    for (double x = (positive ? 0 : -4000) + step / 2; x < (positive ? 400 : 4000); x += step)
      area += step * formula.evaluate({&x, 1}, p);
    CHECK(area == doctest::Approx(p[0]).epsilon(1e-3));
  }
}

TEST_CASE("an unknown name is an error that lists the nearest names") {
  const auto message = [](const std::string& name) {
    try {
      nlsq::model(name);
    } catch (const nlsq::ValidationError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message("gausian").find("gaussian") != std::string::npos);
  CHECK(message("gausian").find("'gausian'") != std::string::npos);
  CHECK(message("menten").find("michaelis_menten") != std::string::npos);
  CHECK(message("quadratic").find("nearest names are poly2") != std::string::npos);
  CHECK(message("exponential").find("nearest names are exp, exp_growth") != std::string::npos);
  CHECK(message("").find("nearest names") != std::string::npos);
  CHECK(message(std::string(100000, 'x')).size() < 300);
}

TEST_CASE("a guess refuses columns whose number or lengths disagree") {
  const std::vector<double> three = {1, 2, 3}, two = {1, 2};
  CHECK_THROWS_AS(nlsq::model("exp").guess(three, two), nlsq::DataError);
  CHECK_THROWS_AS(nlsq::model("gaussian2d").guess(three, three), nlsq::DataError);
}

// Implements rank_models() and compare(): information criteria, Akaike's weights, tests of nested models.
#include <nlsq/compare.hpp>

#include "expression/names.hpp"
#include "fit/fit_setup.hpp"
#include "models/model_sum.hpp"
#include "support/constants.hpp"

#include <nlsq/statistics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Returns the number of parameters that AIC counts: those that the data determine, and those on a bound.
int counted_parameters(const FitResult& fit) {
  const std::ptrdiff_t determined = static_cast<std::ptrdiff_t>(fit.rows) - fit.dof;
  return static_cast<int>(determined + std::ranges::count(fit.at_bound, true));
}

// Returns the largest rss that is no more than rounding errors of y.
double rounding_of(const Column& y, const FitOptions& options) {
  constexpr double kLastDigits = 3 * kUnitRoundoff;
  double squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = kLastDigits * y[i] / (options.sigma.empty() ? 1 : options.sigma[i]);
    squares += error * error;
  }
  return std::isfinite(squares) ? squares : 0;
}

bool is_exact(const ModelFit& m, double rounding) { return m.success() && m.fit->rss <= rounding; }

// Returns the place of a model in the table, as numbers that are compared one after the other. A fit without
// any residual is better than every other, and among such fits the one with the fewest parameters is best.
// AICc is rounded to 1e-9, so that models of the same curve tie. Of these, one without superfluous parameters
// is better.
auto place(const ModelFit& m, double rounding) {
  const int kind = !m.success() ? (m.fit ? 4 : 5) : is_exact(m, rounding) ? 0 : std::isfinite(m.aicc) ? 1 : 2;
  const double value = kind == 0   ? m.parameters
                       : kind == 1 ? std::round(m.aicc * 1e9)
                       : kind == 2 ? m.fit->aic
                       : kind == 4 ? m.fit->rss
                                   : 0;
  const bool superfluous = m.success() && m.fit->summary.verdict == Verdict::rank_deficient;
  return std::tuple(kind, std::isnan(value) ? kInfinity : value, superfluous);
}

void weigh(std::vector<ModelFit>& models) {
  const auto counts = [](const ModelFit& m) { return m.success() && std::isfinite(m.aicc); };
  double least = kInfinity, sum = 0;
  for (const ModelFit& m : models) {
    if (counts(m)) least = std::min(least, m.aicc);
  }
  for (const ModelFit& m : models) sum += counts(m) ? std::exp(0.5 * (least - m.aicc)) : 0;
  for (ModelFit& m : models) m.weight = counts(m) ? std::exp(0.5 * (least - m.aicc)) / sum : kNaN;
}

// Returns true if the fit has fewer free parameters than the model.
bool restricted(const FitResult& fit) {
  if (fit.summary.verdict == Verdict::rank_deficient) return true;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (fit.fixed[j] || fit.at_bound[j] || !fit.ties[j].empty()) return true;
  }
  return false;
}

NestedTest test_of(const std::vector<ModelFit>& models, std::size_t smaller, std::size_t larger,
                   bool known_variance, double rounding) {
  NestedTest t;
  t.smaller = smaller;
  t.larger = larger;
  t.chi_square = known_variance;
  const FitResult &a = *models[smaller].fit, &b = *models[larger].fit;
  t.dof = models[larger].parameters - models[smaller].parameters;
  t.dof_larger = static_cast<double>(b.rows) - models[larger].parameters;
  t.statistic = t.p_value = kNaN;
  if (restricted(a) || restricted(b)) {
    t.note =
        "parameters are fixed, tied, at a bound or undetermined: the models as fitted need not be nested";
  } else if (is_exact(models[smaller], rounding)) {
    t.note = fmt::format("{} leaves no residual beyond rounding", models[smaller].name);
  } else if (a.rss < b.rss * (1 - 1e-9)) {
    t.note = fmt::format("{} fits worse than {}, which it contains: it ended in another minimum",
                         models[larger].name, models[smaller].name);
  } else if (a.errors_in_x) {
    t.note = "with errors in x each model gives the rows other variances, and their rss cannot be compared";
  } else if (!known_variance && !(t.dof_larger > 0 && b.rss > rounding)) {
    t.note = "nothing is left to take the variance from";
  } else {
    const double gained = std::max(0.0, a.rss - b.rss);
    t.statistic = known_variance ? gained : gained / t.dof / (b.rss / t.dof_larger);
    const double x = t.dof_larger / (t.dof_larger + t.dof * t.statistic);
    t.p_value = known_variance ? chi_square_p_value(gained, t.dof)
                               : incomplete_beta(0.5 * t.dof_larger, 0.5 * t.dof, x);
  }
  return t;
}

// Tests each pair of certified models.
void test_pairs(ModelComparison& out, bool known_variance, double rounding) {
  const std::vector<ModelFit>& models = out.models;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (std::size_t j = i + 1; j < models.size(); ++j) {
      if (!models[i].success() || !models[j].success()) continue;
      const bool in_order = models[i].parameters < models[j].parameters;
      const std::size_t smaller = in_order ? i : j, larger = in_order ? j : i;
      const Model *a = models[smaller].known, *b = models[larger].known;
      const bool fewer = models[smaller].parameters < models[larger].parameters;
      const Nesting how = a != nullptr && b != nullptr ? nesting(*a, *b) : Nesting::unknown;
      if (how == Nesting::unknown || (!fewer && how != Nesting::same_curve)) {
        out.unknown.emplace_back(i, j);
      } else if (how == Nesting::same_curve) {
        out.warnings.push_back(fmt::format("{} and {} are the same curve with other parameters",
                                           models[i].name, models[j].name));
      } else {
        out.tests.push_back(test_of(models, smaller, larger, known_variance, rounding));
        out.tests.back().approximate = how == Nesting::nested_irregular;
      }
    }
  }
}

void check_alike(const std::vector<ModelFit>& fits) {
  const FitResult* first = nullptr;
  for (const ModelFit& m : fits) {
    if (!m.fit) continue;
    if (m.fit->loss.is_robust()) {
      throw ValidationError(
          fmt::format("compare: the loss {} is no likelihood, so there is no AIC; fit with the linear loss "
                      "or with poisson",
                      m.fit->loss.name()));
    }
    if (first == nullptr) first = &*m.fit;
    if (m.fit->rows != first->rows || m.fit->loss.is_counts() != first->loss.is_counts()) {
      throw ValidationError(fmt::format(
          "compare: the fit of {} has other rows or another loss than the first; AIC compares fits of the "
          "same data",
          m.name));
    }
    if (m.fit->errors_in_x != first->errors_in_x) {
      throw ValidationError(
          fmt::format("compare: of the fit of {} and the first, only one has errors in x; AIC compares fits "
                      "with the same errors",
                      m.name));
    }
  }
}

void warn(ModelComparison& out, double rounding) {
  for (const ModelFit& m : out.models) {
    if (is_exact(m, rounding)) {
      out.warnings.push_back(
          fmt::format("{} leaves no residual{}: information criteria are undefined, and the exact model with "
                      "the fewest parameters is first",
                      m.name, m.fit->rss > 0 ? " but rounding errors" : ""));
      break;
    }
    if (m.success() && !std::isfinite(m.aicc)) {
      out.warnings.push_back(
          fmt::format("{} has too many parameters for {} rows: its AICc is undefined", m.name, m.fit->rows));
    }
  }
  for (const NestedTest& t : out.tests) {
    if (t.note.find("another minimum") != std::string::npos)
      out.warnings.push_back(t.note + "; give it starting values, or several starts");
  }
}

}  // namespace

std::optional<double> p_value(const FitResult& fit, bool absolute_sigma) {
  if (!absolute_sigma || fit.loss.is_counts()) return std::nullopt;
  return chi_square_p_value(fit.rss, static_cast<double>(fit.dof));
}

// The formula is that of Hurvich and Tsai, Biometrika 76 (1989) 297.
double aicc(const FitResult& fit) {
  const double k = counted_parameters(fit) + (fit.loss.is_counts() ? 0 : 1),
               m = static_cast<double>(fit.rows);
  return m - k - 1 > 0 ? fit.aic + 2 * k * (k + 1) / (m - k - 1) : kNaN;
}

static ModelComparison ranked(std::vector<ModelFit> fits, bool absolute_sigma, double rounding) {
  check_alike(fits);
  ModelComparison out;
  out.models = std::move(fits);
  bool counts = false;
  for (ModelFit& m : out.models) {
    m.aicc = m.weight = kNaN;
    if (!m.fit) continue;
    m.parameters = counted_parameters(*m.fit);
    if (!is_exact(m, rounding)) m.aicc = aicc(*m.fit);
    counts = counts || m.fit->loss.is_counts();
  }
  std::ranges::stable_sort(out.models, [&](const ModelFit& a, const ModelFit& b) {
    return place(a, rounding) < place(b, rounding);
  });
  weigh(out.models);
  test_pairs(out, absolute_sigma || counts, rounding);
  warn(out, rounding);
  return out;
}

ModelComparison rank_models(std::vector<ModelFit> fits, bool absolute_sigma) {
  return ranked(std::move(fits), absolute_sigma, 0);
}

ModelComparison rank_models(std::vector<ModelFit> fits, const Column& y, const FitOptions& options) {
  const bool comparable = !options.loss.is_counts() && options.sigma_matrix.empty();
  return ranked(std::move(fits), options.absolute_sigma, comparable ? rounding_of(y, options) : 0);
}

ModelComparison compare(const std::vector<std::string>& models, const Columns& x, const Column& y,
                        const FitOptions& options) {
  if (models.empty()) throw ValidationError("compare: no model is given");
  struct Choice {
    const Model* built_in = nullptr;
    Formula formula;
  };
  std::vector<Choice> choices;  // every formula is parsed before the first fit
  const std::vector<std::string> predictors = predictor_options(x.size()).predictors;
  for (const std::string& text : models) {
    Choice choice;
    if (guessing::chooses_model(text, predictors)) choice.built_in = &model(text);
    else choice.formula = formula_of_columns(text, x.size());
    if (choice.formula.has_left_side)
      throw ValidationError(
          fmt::format("compare: {}: a left side changes the data; transform y instead", text));
    choices.push_back(std::move(choice));
  }
  std::vector<ModelFit> fits;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Choice& choice = choices[i];
    ModelFit one{models[i], choice.built_in != nullptr ? choice.built_in : known_model(choice.formula)};
    try {
      one.fit = choice.built_in != nullptr ? curve_fit(*choice.built_in, x, y, {}, options)
                                           : curve_fit(choice.formula, x, y, {}, options);
    } catch (const Error& e) {
      one.error = e.what();
    }
    fits.push_back(std::move(one));
  }
  return rank_models(std::move(fits), y, options);
}

}  // namespace nlsq::inline v0

// Implements recognise(): searches over the pairings of two formulas' parameters.
#include "models/recognise.hpp"

#include "expression/names.hpp"

#include <nlsq/graph.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>

namespace nlsq::inline v0::guessing {
namespace {

constexpr std::size_t kMostParameters = 7;
constexpr Relation kRelations[] = {
    [](double q) { return q; },
    [](double q) { return -q; },
    [](double q) { return 1 / q; },
    [](double q) { return -1 / q; },
    [](double q) { return std::numbers::ln2 / q; },  // a half-life
    [](double q) { return std::numbers::sqrt2 * q; },
    [](double q) { return 2 * q; },
    [](double q) { return 2 * q * q; },
    [](double q) { return 2 * std::sqrt(2 * std::numbers::ln2) * q; },  // the full width of a Gaussian
};
constexpr std::size_t kLinearRelations = 2;  // q and -q; a linear parameter has no other

// This is one point at which both formulas are evaluated. The numbers have no simple ratios, so that
// different formulas do not agree by chance.
struct Point {
  std::vector<double> x, q;  // predictors; the model's parameters
  double value = 0;          // of the model
};

std::vector<Point> test_points(const Formula& model) {
  constexpr int kPoints = 6;
  std::vector<Point> points;
  double phase = 0.137;
  const auto next = [&phase](double low, double high) {
    phase = std::fmod(phase + std::numbers::phi, 1.0);
    return low + (high - low) * phase;
  };
  for (int k = 0; k < kPoints; ++k) {
    Point& p = points.emplace_back();
    for (std::size_t i = 0; i < model.predictors.size(); ++i) p.x.push_back(next(0.3, 2.9));
    for (std::size_t j = 0; j < model.parameters.size(); ++j) p.q.push_back(next(0.6, 1.7));
    p.value = model.evaluate(p.x, p.q);
  }
  return points;
}

// Returns true if two values agree. Returns false if one has overflowed, because it then shows nothing about
// the formula.
bool agree(double a, double b) {
  return std::isfinite(a) && std::fabs(a - b) <= 1e-9 * (std::fabs(a) + std::fabs(b));
}

std::vector<bool> linear_ones(const Formula& formula) {
  const std::vector<int> all = all_parameters(formula.parameters.size());
  std::vector<bool> linear(all.size(), false);
  for (const int j : linear_parameters(formula.graph, formula.model, all))
    linear[static_cast<std::size_t>(j)] = true;
  return linear;
}

class Pairing {
 public:
  Pairing(const Formula& formula, const Model& model, const Formula& model_formula)
      : formula_(formula), points_(test_points(model_formula)), linear_(linear_ones(formula)),
        model_linear_(linear_ones(model_formula)) {
    out_.model = &model;
    out_.partner.resize(formula.parameters.size());
    out_.relation.assign(formula.parameters.size(), kRelations[0]);
    taken_.assign(formula.parameters.size(), false);
    values_.resize(formula.parameters.size());
  }

  std::optional<Recognised> find() {
    if (std::ranges::count(linear_, true) != std::ranges::count(model_linear_, true)) return std::nullopt;
    for (const Point& p : points_)
      if (!std::isfinite(p.value)) return std::nullopt;
    // With many parameters, only a few may be related in another way than by equality; otherwise there would
    // be too many pairings.
    changes_left_ = formula_.parameters.size() <= 4 ? 4 : 2;
    return pair_from(0) ? std::optional(out_) : std::nullopt;
  }

 private:
  // Pairs the formula's parameters from number j on.
  bool pair_from(std::size_t j) {
    if (j == values_.size()) return matches();
    for (std::size_t k = 0; k < taken_.size(); ++k) {
      if (taken_[k] || linear_[j] != model_linear_[k]) continue;
      taken_[k] = true;
      out_.partner[j] = k;
      const std::size_t relations = linear_[j] ? kLinearRelations : std::size(kRelations);
      for (std::size_t t = 0; t < relations; ++t) {
        if (t > 0 && changes_left_ == 0) break;
        changes_left_ -= t > 0 ? 1 : 0;
        out_.relation[j] = kRelations[t];
        if (pair_from(j + 1)) return true;
        changes_left_ += t > 0 ? 1 : 0;
      }
      taken_[k] = false;
    }
    return false;
  }

  bool matches() {
    return std::ranges::all_of(points_, [&](const Point& p) {
      for (std::size_t j = 0; j < values_.size(); ++j) values_[j] = out_.relation[j](p.q[out_.partner[j]]);
      return agree(formula_.evaluate(p.x, values_), p.value);
    });
  }

  const Formula& formula_;
  std::vector<Point> points_;
  std::vector<bool> linear_, model_linear_, taken_;
  std::vector<double> values_;
  Recognised out_;
  int changes_left_ = 0;
};

}  // namespace

std::vector<double> Recognised::convert(std::span<const double> of_model) const {
  std::vector<double> out;
  for (std::size_t j = 0; j < partner.size(); ++j) {
    const double value = relation[j](of_model[partner[j]]);
    out.push_back(std::isfinite(value) ? value : 1.0);
  }
  return out;
}

Formula formula_of(const Model& model) {
  return parse_formula(model.formula, predictor_options(static_cast<std::size_t>(model.predictors)));
}

Recognised recognise(const Formula& formula) {
  const std::size_t parameters = formula.parameters.size();
  if (formula.has_left_side || parameters < 2 || parameters > kMostParameters) return {};
  for (const Model& model : models()) {
    if (model.parameters.size() != parameters ||
        static_cast<std::size_t>(model.predictors) != formula.predictors.size()) {
      continue;
    }
    if (auto found = Pairing(formula, model, formula_of(model)).find()) return *found;
  }
  return {};
}

}  // namespace nlsq::inline v0::guessing

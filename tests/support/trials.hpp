// Draws data from the registry entry of a built-in model, for tests of first guesses.
#pragma once

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace trials {

// Uniform and normal random numbers that are equal with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform() + 0x1p-54));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double in(const nlsq::TrialRange& range) {
    const double u = uniform();
    return range.logarithmic ? range.low * std::pow(range.high / range.low, u)
                             : range.low + (range.high - range.low) * u;
  }
  std::vector<double> parameters(const nlsq::Model& model) {
    std::vector<double> p;
    for (const nlsq::TrialRange& range : model.trials) p.push_back(in(range));
    return p;
  }

 private:
  std::mt19937_64 engine_;
};

inline nlsq::Formula parsed(const nlsq::Model& model) {
  nlsq::FormulaOptions options;
  if (model.predictors > 1) {
    options.predictors.clear();
    for (int k = 1; k <= model.predictors; ++k)
      options.predictors.push_back(std::string("x").append(std::to_string(k)));
  }
  return nlsq::parse_formula(model.formula, options);
}

struct Data {
  std::vector<std::vector<double>> x;
  std::vector<double> y, truth;

  std::vector<std::span<const double>> columns() const { return {x.begin(), x.end()}; }
};

// Draws `rows` rows at parameters from the entry's ranges. x is evenly spaced or uniformly random. The noise
// is the range of the curve divided by `snr`.
inline Data draw(const nlsq::Model& model, Random& random, std::size_t rows, bool even, double snr) {
  const nlsq::Formula formula = parsed(model);
  Data data;
  data.truth = random.parameters(model);
  data.x.resize(static_cast<std::size_t>(model.predictors), std::vector<double>(rows));
  data.y.resize(rows);
  const double low = model.trial_x.low, width = model.trial_x.high - model.trial_x.low;
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(rows))));
  std::vector<double> row(data.x.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      double u = random.uniform();
      if (even && row.size() == 1) u = static_cast<double>(i) / static_cast<double>(rows - 1);
      if (even && row.size() == 2)
        u = static_cast<double>(k == 0 ? i / side : i % side) / static_cast<double>(side - 1);
      row[k] = data.x[k][i] = low + width * u;
    }
    data.y[i] = formula.evaluate(row, data.truth);
  }
  const auto [lowest, highest] = std::minmax_element(data.y.begin(), data.y.end());
  const double range = *highest > *lowest ? *highest - *lowest : 1.0;
  for (double& value : data.y) value += range / snr * random.normal();
  return data;
}

}  // namespace trials

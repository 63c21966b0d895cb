// Compares the speed of waves with the spacing of the rows.
#include "start/fast_waves.hpp"

#include "formula/block_values.hpp"
#include "support/column_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Returns the steps of the operand that ends before step `end`.
std::vector<FormulaStep> operand_before(const std::vector<FormulaStep>& steps, std::size_t end) {
  std::size_t begin = end;
  for (int missing = 1; missing > 0 && begin > 0;) missing += operands_of(steps[--begin]) - 1;
  return {steps.begin() + static_cast<std::ptrdiff_t>(begin),
          steps.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Returns true if this parameter changes how fast the argument of a wave grows with x. A frequency or a
// period does so. A phase only shifts the wave.
bool changes_speed(const Formula& argument, std::size_t parameter) {
  constexpr double kSame = 1e-9;
  const double x[] = {1, 2};
  const double* predictor = x;
  std::vector<double> parameters(argument.parameters.size(), 1.0);
  const auto speed = [&] {
    double at[2];
    argument.evaluate_rows({&predictor, 1}, parameters, 2, at);
    return at[1] - at[0];
  };
  const double before = speed();
  parameters[parameter] = 2;
  return !(std::fabs(speed() - before) <= kSame * std::fabs(before));
}

// Returns the different places, in ascending order. With very many rows, it returns places at their mean
// distance instead, which takes far less time.
std::vector<double> neighbouring_places(const Column& x) {
  constexpr std::size_t kMost = 100000, kPlaces = 128;
  std::vector<double> places;
  if (x.size() <= kMost) {
    places.resize(x.size());
    x.read(0, x.size(), places.data());
    std::ranges::sort(places);
    places.erase(std::ranges::unique(places).begin(), places.end());
    return places;
  }
  const ColumnRange range = range_of(x);
  for (std::size_t i = 0; i < kPlaces; ++i)
    places.push_back(range.least +
                     static_cast<double>(i) * range.width() / static_cast<double>(x.size() - 1));
  return places;
}

}  // namespace

std::vector<Formula> wave_arguments(const Formula& formula) {
  std::vector<Formula> out;
  for (std::size_t k = 0; k < formula.steps.size(); ++k) {
    const FormulaStep& step = formula.steps[k];
    const bool wave = step.op == Op::sin || step.op == Op::cos || step.op == Op::tan;
    if (step.compound != CompoundFunction::none || !wave) continue;
    out.push_back(formula);
    out.back().steps = operand_before(formula.steps, k);
  }
  return out;
}

bool advances_slowly(const std::vector<double>& argument) {
  std::vector<double> steps(argument.size() - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = std::fabs(argument[i + 1] - argument[i]);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle <= std::numbers::pi;
}

std::vector<Formula> unstarted_waves(const Formula& formula, const std::vector<std::string>& unstarted) {
  if (formula.predictors.size() != 1) return {};
  std::vector<Formula> arguments = wave_arguments(formula);
  std::erase_if(arguments, [&](const Formula& one) {
    return std::ranges::none_of(one.steps, [&](const FormulaStep& step) {
      return step.op == Op::parameter && std::ranges::count(unstarted, one.parameters[step.index]) > 0 &&
             changes_speed(one, step.index);
    });
  });
  return arguments;
}

bool has_fast_wave(const std::vector<Formula>& arguments, const Column& x,
                   std::span<const double> parameters) {
  if (arguments.empty()) return false;
  const std::vector<double> places = neighbouring_places(x);
  if (places.size() < 2) return false;
  std::vector<double> argument(places.size());
  const double* predictor = places.data();
  return std::ranges::any_of(arguments, [&](const Formula& one) {
    one.evaluate_rows({&predictor, 1}, parameters, places.size(), argument.data());
    return !advances_slowly(argument);
  });
}

}  // namespace nlsq::inline v0

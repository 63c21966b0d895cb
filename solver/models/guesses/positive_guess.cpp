// Implements make_positive().
#include "models/guesses/sample.hpp"

#include "models/recognise.hpp"
#include "support/column_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace nlsq::inline v0::guessing {

namespace {

constexpr double kRaisedFloor = 0.1;        // the lowest value of the raised curve, relative to the mean of y
constexpr double kRoundingOfChange = 1e-9;  // of a difference of two values, relative to them
constexpr std::size_t kRowsAtOnce = 4096;   // rows that are read at once

// Computes the curve of a model in all rows.
class ModelValues {
 public:
  ModelValues(const Model& model, const Columns& x) : formula_(formula_of(model)), x_(x) {}

  // Calls visit(values, count) for each block of rows. values[k] is the curve with parameters[k].
  template <class Visit>
  void for_blocks(const std::vector<std::vector<double>>& parameters, Visit visit) const {
    const std::size_t rows = x_.list().front().size();
    std::vector<std::vector<double>> columns(x_.size(), std::vector<double>(kRowsAtOnce));
    std::vector<std::vector<double>> values(parameters.size(), std::vector<double>(kRowsAtOnce));
    std::vector<const double*> pointers;
    for (const auto& column : columns) pointers.push_back(column.data());
    for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, rows - first);
      for (std::size_t c = 0; c < columns.size(); ++c) x_.list()[c].read(first, count, columns[c].data());
      for (std::size_t k = 0; k < parameters.size(); ++k)
        formula_.evaluate_rows(pointers, parameters[k], count, values[k].data());
      visit(values, count);
    }
  }

 private:
  Formula formula_;
  const Columns& x_;
};

double lowest(const ModelValues& curve, const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity();
  curve.for_blocks({values}, [&](const auto& f, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) low = std::min(low, f[0][i]);  // NaN is ignored
  });
  return low;
}

// Returns the parameter that adds the same number to every row, if there is one.
std::optional<std::size_t> constant_of(const ModelValues& curve, const std::vector<double>& values,
                                       double step) {
  std::vector<std::vector<double>> moved{values};
  for (std::size_t j = 0; j < values.size(); ++j) {
    moved.push_back(values);
    moved.back()[j] += step;
  }
  std::vector<bool> adds(values.size(), true);
  curve.for_blocks(moved, [&](const auto& f, std::size_t count) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      for (std::size_t i = 0; i < count && adds[j]; ++i) {
        const double at = f[0][i], change = f[j + 1][i] - at;
        adds[j] =
            !std::isfinite(at) || std::fabs(change - step) <= kRoundingOfChange * (std::fabs(at) + step);
      }
    }
  });
  const auto first = std::ranges::find(adds, true);
  if (first == adds.end()) return std::nullopt;
  return static_cast<std::size_t>(first - adds.begin());
}

}  // namespace

void make_positive(const Model& model, const Columns& x, const Column& y, std::vector<double>& values) {
  const ModelValues curve(model, x);
  const double low = lowest(curve, values);
  if (low > 0 || !std::isfinite(low)) return;
  const double mean = mean_of_finite(y);
  if (!(mean > 0)) return;
  const std::optional<std::size_t> constant = constant_of(curve, values, mean);
  if (constant) values[*constant] += kRaisedFloor * mean - low;
}

}  // namespace nlsq::inline v0::guessing

// Tests guesses from columns that are not in memory as doubles. The bits are the same, and few rows are read
// at once.
#include <nlsq/models.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include <nlsq/nlsq.hpp>

namespace {

// Columns of doubles that are only given in parts.
class Rows final : public nlsq::RowSource {
 public:
  explicit Rows(std::vector<std::vector<double>> columns) : columns_(std::move(columns)) {}
  std::size_t rows() const override { return columns_[0].size(); }
  int columns() const override { return static_cast<int>(columns_.size()); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    most = std::max(most, count);
    std::copy_n(columns_[static_cast<std::size_t>(column)].begin() + static_cast<std::ptrdiff_t>(first),
                count, out);
  }
  mutable std::size_t most = 0;  // most rows that were requested at once

 private:
  std::vector<std::vector<double>> columns_;
};

std::vector<std::vector<double>> columns_of(const nlsq::Model& model, std::size_t rows, bool sorted) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal;
  std::vector<double> p;
  for (const nlsq::TrialRange& r : model.trials) {
    const double u = uniform(random);
    p.push_back(r.logarithmic ? r.low * std::pow(r.high / r.low, u) : r.low + u * (r.high - r.low));
  }
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(model.predictors));
  for (auto& x : columns) {
    for (std::size_t i = 0; i < rows; ++i)
      x.push_back(model.trial_x.low + (model.trial_x.high - model.trial_x.low) * uniform(random));
  }
  if (sorted) std::sort(columns[0].begin(), columns[0].end());
  std::vector<nlsq::Column> x(columns.begin(), columns.end());
  std::vector<double> y = nlsq::evaluate(model, nlsq::Columns(std::move(x)), p).values;
  double size = 0;
  for (double& value : y) size = std::max(size, std::fabs(value = std::isfinite(value) ? value : 0));
  for (double& value : y) value += 0.01 * size * normal(random);
  columns.push_back(std::move(y));
  return columns;
}

}  // namespace

TEST_CASE("the guess from a row source has the bits of the guess from memory, and reads rows in blocks") {
  constexpr std::size_t kRows = 30'000, kMost = 4096;
  for (const nlsq::Model& model : nlsq::models()) {
    for (const bool sorted : {true, false}) {
      CAPTURE(model.name);
      CAPTURE(sorted);
      const auto columns = columns_of(model, kRows, sorted);
      std::vector<std::span<const double>> x(columns.begin(), columns.end() - 1);
      const nlsq::Guess wanted = model.guess(x, columns.back());
      const Rows rows(columns);
      std::vector<nlsq::Column> parts;
      for (int k = 0; k < model.predictors; ++k) parts.emplace_back(rows, k);
      const nlsq::Guess found =
          model.rule(nlsq::Columns(std::move(parts)), nlsq::Column(rows, model.predictors), {});
      CHECK(found.values == wanted.values);
      CHECK(found.warning == wanted.warning);
      CHECK(rows.most <= kMost);
    }
  }
}

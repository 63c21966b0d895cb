#include "data_survey.hpp"

#include <nlsq/kernel_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLarge = 1 << 17;  // rows: from here on data are looked at in the first pass

// Finite, and positive where it must be. On the bits, so that it vectorises: one pass over data should
// cost what reading them costs. An exponent of all ones carries into the top bit.
bool all_finite(const double* values, std::size_t count) {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000, kOne = 0x0010'0000'0000'0000;
  std::uint64_t carried = 0;
  for (std::size_t i = 0; i < count; ++i) carried |= (std::bit_cast<std::uint64_t>(values[i]) & kExponent) + kOne;
  return carried >> 63 == 0;
}

// Of finite numbers: neither the sign bit nor zero, whose predecessor as an integer has the top bit, too.
bool all_positive(const double* values, std::size_t count) {
  std::uint64_t negative = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    negative |= bits | (bits - 1);
  }
  return negative >> 63 == 0;
}

}  // namespace

bool all_usable(const double* values, std::size_t count, bool positive) {
  return all_finite(values, count) && (!positive || all_positive(values, count));
}

void ScatterSums::add(const double* y, const double* sigma, std::size_t count) {
  double weights[most], distances[most];
  for (std::size_t i = 0; i < count; ++i) distances[i] = y[i] - origin_;
  if (sigma != nullptr) {
    for (std::size_t i = 0; i < count; ++i) weights[i] = 1 / sigma[i];
    for (std::size_t i = 0; i < count; ++i) distances[i] *= weights[i];
  }
  const double* const columns[2] = {sigma != nullptr ? weights : nullptr, distances};
  KernelCounters not_of_the_fit;
  kernels().gram_f64(columns, 2, count, sums_.data(), &not_of_the_fit);
}

void ScatterSums::add(const ScatterSums& other) {
  for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += other.sums_[k];
}

double ScatterSums::total() const {
  const auto [weights, first, second] = sums_;
  return weights > 0 ? std::max(0.0, second - first * first / weights) : 0;
}

DataSurvey::DataSurvey(std::shared_ptr<const RowSource> rows, std::vector<std::string> names, bool weighted)
    : rows_(std::move(rows)), names_(std::move(names)), weighted_(weighted) {
  if (rows_->rows() == 0) throw DataError("no data rows were given");
  if (rows_->rows() < kLarge) run();
}

void DataSurvey::run() {
  if (complete_) return;
  start(1);
  look(0, 0, rows_->rows());
  finish();
}

void DataSurvey::start(std::size_t chunks) {
  double origin = 0;
  rows_->read(0, 1, rows_->columns() - (weighted_ ? 2 : 1), &origin);
  chunks_.assign(chunks, {ScatterSums(origin), {}});
}

void DataSurvey::look(std::size_t chunk, std::size_t first, std::size_t count) {
  constexpr std::size_t kMost = ScatterSums::most;
  KernelCounters not_of_the_fit;
  double blocks[2][kMost];  // of y and sigma, where they have to be read; predictors take either
  const int columns = rows_->columns(), y = columns - (weighted_ ? 2 : 1);
  for (const std::size_t end = first + count; first < end; first += kMost) {
    const std::size_t some = std::min(kMost, end - first);
    const double* last[2] = {nullptr, nullptr};
    for (int c = 0; c < columns; ++c) {
      double* block = blocks[is_sigma(c) ? 1 : 0];
      const double* values = rows_->direct_f64(first, c);
      if (values == nullptr) {
        rows_->read(first, some, c, block);
        values = block;
      }
      if (c >= y) last[c - y] = values;
      if (c == y) continue;
      // A finite sum of squares vouches for every number in it, at the vector kernels' pace.
      double squares = std::numeric_limits<double>::infinity();
      if (c < y && some == kMost) kernels().gram_f64(&values, 1, some, &(squares = 0), &not_of_the_fit);
      if (!std::isfinite(squares) && !all_usable(values, some, is_sigma(c))) note_faults(chunks_[chunk], c, values, first, some);
    }
    chunks_[chunk].scatter.add(last[0], last[1], some);
    if (!chunks_[chunk].scatter.finite() && !all_usable(last[0], some, false)) note_faults(chunks_[chunk], y, last[0], first, some);
  }
}

void DataSurvey::note_faults(Chunk& chunk, int column, const double* values, std::size_t first, std::size_t count) const {
  chunk.faults.resize(static_cast<std::size_t>(rows_->columns()));
  Faults& faults = chunk.faults[static_cast<std::size_t>(column)];
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i]) && (!is_sigma(column) || values[i] > 0)) continue;
    if (faults.count++ == 0) faults.first = first + i;
  }
}

void DataSurvey::finish() {
  for (int c = 0; c < rows_->columns(); ++c) {
    Faults all;
    for (const Chunk& chunk : chunks_) {
      if (chunk.faults.empty()) continue;
      const Faults& here = chunk.faults[static_cast<std::size_t>(c)];
      if (here.count == 0) continue;
      all.first = all.count == 0 ? here.first : std::min(all.first, here.first);
      all.count += here.count;
    }
    if (all.count > 0) fail(c, all);
  }
  ScatterSums sums = chunks_.front().scatter;
  for (std::size_t k = 1; k < chunks_.size(); ++k) sums.add(chunks_[k].scatter);
  total_squares_ = sums.total();
  complete_ = true;
  chunks_ = {};
}

void DataSurvey::fail(int column, const Faults& faults) const {
  double value = 0;
  rows_->read(faults.first, 1, column, &value);
  const auto c = static_cast<std::size_t>(column);
  const std::string name = c < names_.size() ? names_[c] : fmt::format("column {}", c);
  throw DataError(fmt::format("{} has {} value(s) that {}; the first is {} in row {}: correct or leave out such rows", name, faults.count,
                              is_sigma(column) ? "are not positive and finite" : "are not finite", value, faults.first),
                  faults.first, c);
}

}  // namespace nlsq::inline v0

// Implements DataSurvey's checks. They are vectorized, so that they take no longer than reading the data.
#include "dense/data_survey.hpp"

#include "kernels/kernel_table.hpp"
#include "support/all_finite.hpp"
#include "support/bytes.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLarge = 1 << 17;  // rows; from here on data are checked in the first pass

// Returns true if all numbers, which must be finite, are positive. Rejects numbers with the sign bit, and
// zero, because zero minus 1 as an integer has the top bit set.
bool all_positive(const double* values, std::size_t count) {
  std::uint64_t negative = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    negative |= bits | (bits - 1);
  }
  return negative >> 63 == 0;
}

// Returns true if no number, all of which must be finite, is negative. Returns false for -0, too; such
// columns are then checked number by number.
bool none_negative(const double* values, std::size_t count) {
  std::uint64_t negative = 0;
  for (std::size_t i = 0; i < count; ++i) negative |= std::bit_cast<std::uint64_t>(values[i]);
  return negative >> 63 == 0;
}

bool is_usable(double value, Wanted wanted) {
  if (!std::isfinite(value)) return false;
  return wanted == Wanted::any || (wanted == Wanted::positive ? value > 0 : value >= 0);
}

}  // namespace

bool all_usable(const double* values, std::size_t count, Wanted wanted) {
  if (!all_finite({values, count})) return false;
  if (wanted == Wanted::positive) return all_positive(values, count);
  return wanted == Wanted::any || none_negative(values, count) ||
         std::all_of(values, values + count, [](double v) { return v >= 0; });
}

namespace {

// Sums Σw², Σw²d and Σw²d² for the distances d = y - origin - mean of at most ScatterSums::most rows.
std::array<double, 3> sums_about(double origin, double mean, const double* y, const double* sigma,
                                 std::size_t count) {
  double weights[ScatterSums::most], distances[ScatterSums::most];
  for (std::size_t i = 0; i < count; ++i) distances[i] = y[i] - origin - mean;
  if (sigma != nullptr) {
    for (std::size_t i = 0; i < count; ++i) weights[i] = 1 / sigma[i];
    for (std::size_t i = 0; i < count; ++i) distances[i] *= weights[i];
  }
  const double* const columns[2] = {sigma != nullptr ? weights : nullptr, distances};
  std::array<double, 3> sums{};
  KernelCounters not_of_the_fit;
  kernels().gram_f64(columns, 2, count, sums.data(), &not_of_the_fit);
  return sums;
}

}  // namespace

void ScatterSums::add(const double* y, const double* sigma, std::size_t count) {
  constexpr double kCancelled = 1e-7;  // a difference below this share of its terms has lost too many digits
  ScatterSums block(origin_);
  for (int round = 0; round < 2; ++round) {
    const auto [weights, first, second] = sums_about(origin_, block.mean_, y, sigma, count);
    block.squares_ = second;
    if (!(weights > 0)) break;  // sigma is not finite, or so large that the weights vanish
    block.weights_ = weights;
    block.mean_ += first / weights;
    block.squares_ -= first * first / weights;
    if (!(block.squares_ < kCancelled * second)) break;
  }
  add(block);
}

// The formula of Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for computing sample
// variances, 1979. It adds squares alone.
void ScatterSums::add(const ScatterSums& other) {
  squares_ += other.squares_;
  if (other.weights_ == 0) return;
  if (weights_ == 0) mean_ = other.mean_;
  const double all = weights_ + other.weights_, share = other.weights_ / all, apart = other.mean_ - mean_;
  const double root = apart * std::sqrt(weights_ * share);
  squares_ += root * root;
  mean_ += apart * share;
  weights_ = all;
}

double ScatterSums::total() const { return std::max(0.0, squares_); }

double total_squares(const double* y, const double* sigma, std::size_t count) {
  ScatterSums sums(y[0]);
  for (std::size_t first = 0; first < count; first += ScatterSums::most) {
    sums.add(y + first, sigma == nullptr ? nullptr : sigma + first,
             std::min(ScatterSums::most, count - first));
  }
  return sums.total();
}

double total_squares(const Column& y, const Column& sigma) {
  std::vector<double> copies[2];
  const auto numbers = [](const Column& column, std::vector<double>& copy) {
    if (const double* const direct = column.direct_f64(0)) return direct;
    copy.resize(column.size());
    column.read(0, copy.size(), copy.data());
    return std::as_const(copy).data();
  };
  if (y.size() == 0) return 0;
  return total_squares(numbers(y, copies[0]), sigma.empty() ? nullptr : numbers(sigma, copies[1]), y.size());
}

DataSurvey::DataSurvey(std::shared_ptr<const RowSource> rows, std::vector<std::string> names,
                       ResidualForm form)
    : rows_(std::move(rows)), names_(std::move(names)), form_(std::move(form)) {
  if (rows_->rows() == 0) throw DataError("no data rows were given");
  if (rows_->rows() < kLarge) run();
}

Wanted DataSurvey::wanted(int column) const {
  const int y = response();
  if (column < y) return Wanted::any;
  if (column == y) return form_.loss.is_counts() ? Wanted::not_negative : Wanted::any;
  return form_.weighted && column == y + 1 ? Wanted::positive : Wanted::not_negative;
}

void DataSurvey::run() {
  if (complete_) return;
  start(1);
  look(0, 0, rows_->rows());
  finish();
}

void DataSurvey::start(std::size_t chunks) {
  double origin = 0;
  rows_->read(0, 1, response(), &origin);
  chunks_.assign(chunks, {ScatterSums(origin), {}});
}

void DataSurvey::look(std::size_t chunk, std::size_t first, std::size_t count) {
  constexpr std::size_t kMost = ScatterSums::most;
  KernelCounters not_of_the_fit;
  double blocks[3][kMost];  // of y and sigma, if they must be read; of other columns
  const int columns = rows_->columns(), y = response();
  const auto place = [&](int c) { return c == y ? 0 : c == y + 1 && form_.weighted ? 1 : 2; };
  for (const std::size_t end = first + count; first < end; first += kMost) {
    const std::size_t some = std::min(kMost, end - first);
    const double* last[2] = {nullptr, nullptr};
    for (int c = 0; c < columns; ++c) {
      double* block = blocks[place(c)];
      const double* values = rows_->direct_f64(first, c);
      if (values == nullptr) {
        rows_->read(first, some, c, block);
        values = block;
      }
      if (place(c) < 2) last[place(c)] = values;
      if (c == y && wanted(y) == Wanted::any) continue;
      // If the sum of squares is finite, so is every number in it. The vector kernel computes it fast.
      double squares = kInfinity;
      if (c < y && some == kMost) kernels().gram_f64(&values, 1, some, &(squares = 0), &not_of_the_fit);
      if (!std::isfinite(squares) && !all_usable(values, some, wanted(c)))
        note_faults(chunks_[chunk], c, values, first, some);
    }
    chunks_[chunk].scatter.add(last[0], last[1], some);
    if (wanted(y) != Wanted::any || chunks_[chunk].scatter.finite()) continue;
    if (!all_finite({last[0], some})) note_faults(chunks_[chunk], y, last[0], first, some);
  }
}

void DataSurvey::note_faults(Chunk& chunk, int column, const double* values, std::size_t first,
                             std::size_t count) const {
  chunk.faults.resize(static_cast<std::size_t>(rows_->columns()));
  Faults& faults = chunk.faults[static_cast<std::size_t>(column)];
  for (std::size_t i = 0; i < count; ++i) {
    if (is_usable(values[i], wanted(column))) continue;
    if (faults.count++ == 0) faults.first = first + i;
  }
}

std::string DataSurvey::seen(std::size_t begin, std::size_t end) const {
  ByteWriter out;
  for (std::size_t c = begin; c < end; ++c) {
    out.put(chunks_[c].scatter);
    out.put_all(std::span<const Faults>(chunks_[c].faults));
  }
  return std::move(out.text());
}

void DataSurvey::take_seen(std::size_t begin, std::size_t end, std::string_view bytes) {
  ByteReader in(bytes);
  for (std::size_t c = begin; c < end; ++c) {
    chunks_[c].scatter = in.get<ScatterSums>();
    chunks_[c].faults = in.get_all<Faults>();
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
  const char* const what[] = {"are not finite", "are not positive and finite", "are negative or not finite"};
  throw DataError(
      fmt::format("{} has {} value(s) that {}; the first is {} in row {}: correct or leave out such rows",
                  name, faults.count, what[static_cast<int>(wanted(column))], value, faults.first),
      faults.first, c);
}

}  // namespace nlsq::inline v0

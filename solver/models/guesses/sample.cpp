// Draws the sample of rows from which a built-in model computes its first guess.
#include "models/guesses/sample.hpp"

#include "models/guesses/separable.hpp"
#include "models/guesses/wide_vectors.hpp"

#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>

namespace nlsq::inline v0::guessing {
namespace {

// Picks a row of stratum k of n/strata rows by a hash (the splitmix64 finaliser). A constant stride would
// alias oscillations.
std::size_t pick_row(std::size_t stratum, std::size_t strata, std::size_t n) {
  const std::size_t first = static_cast<std::size_t>(static_cast<double>(stratum) * static_cast<double>(n) /
                                                     static_cast<double>(strata));
  const std::size_t last = static_cast<std::size_t>(static_cast<double>(stratum + 1) *
                                                    static_cast<double>(n) / static_cast<double>(strata));
  const std::uint64_t z = Random(stratum).bits();
  return std::min(n - 1, first + static_cast<std::size_t>(z % std::max<std::size_t>(1, last - first)));
}

bool in_domain(double x, Domain domain) {
  return domain == Domain::all || x > 0 || (domain == Domain::non_negative && x == 0);
}

constexpr double kLeastWeight = 1e-100;  // of a row beside the others; its square does not underflow

// Leaves out rows far from the median of their five nearest rows, if the rows on both sides of them are much
// nearer to their medians. A peak of three rows remains. `order` holds the rows in ascending order of x.
void leave_out_spikes(std::vector<std::size_t>& order, const std::vector<double>& y) {
  constexpr double kFar = 8;             // times the median distance
  constexpr double kMuchNearer = 0.125;  // of the row's distance
  const std::size_t n = order.size();
  if (n < 7) return;
  std::vector<double> distance(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = std::clamp<std::size_t>(i, 2, n - 3) - 2;
    double near[5];
    for (std::size_t k = 0; k < 5; ++k) near[k] = y[order[first + k]];
    distance[i] = std::abs(y[order[i]] - ranked(near, 2));
  }
  std::vector<double> sorted = distance;
  const double far = kFar * ranked(sorted, n / 2);
  if (!(far > 0)) return;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < n; ++i) {
    const double beside = std::max(i > 0 ? distance[i - 1] : 0.0, i + 1 < n ? distance[i + 1] : 0.0);
    if (distance[i] <= far || beside > kMuchNearer * distance[i]) kept.push_back(order[i]);
  }
  order = std::move(kept);
}

constexpr std::size_t kBlock = 4096;       // rows that are read at once
constexpr std::size_t kLongGap = 1 << 14;  // between single rows; over shorter gaps, reading continues

}  // namespace

// Some rows of all columns. row(i) is in entry i - first of each pointer.
struct Source::Block {
  std::size_t first = 0, count = 0;
  std::vector<const double*> x;
  const double* y = nullptr;
  const double* sigma = nullptr;  // null: all rows count alike

  // Returns true if the numbers of entry i are usable; false for NaN.
  bool usable(std::size_t i) const {
    bool finite = std::abs(y[i]) < kLargest;
    for (const double* const column : x) finite = finite && std::abs(column[i]) < kLargest;
    return finite && (sigma == nullptr || (sigma[i] > 1 / kLargest && sigma[i] < kLargest));
  }

  bool all_usable() const {
    const auto small = [this](const double* values) {
      return sum_of(count, [=](std::size_t i) { return std::abs(values[i]) < kLargest ? 0.0 : 1.0; }) == 0;
    };
    return sigma == nullptr && small(y) && std::ranges::all_of(x, small);
  }
};

// Holds rows that were chosen for a sample, in the order of the data.
struct Source::Rows {
  std::vector<double> x, x2, y, sigma;

  void reserve(std::size_t rows) {
    for (auto* const column : {&x, &y}) column->reserve(rows);
  }

  void add_all(const Block& block) {  // without sigma
    x.insert(x.end(), block.x[0], block.x[0] + block.count);
    if (block.x.size() > 1) x2.insert(x2.end(), block.x[1], block.x[1] + block.count);
    y.insert(y.end(), block.y, block.y + block.count);
  }

  void add(const Block& block, std::size_t i) {
    x.push_back(block.x[0][i]);
    if (block.x.size() > 1) x2.push_back(block.x[1][i]);
    y.push_back(block.y[i]);
    if (block.sigma != nullptr) sigma.push_back(block.sigma[i]);
  }

  // Moves the rows into a sample. If `outliers`, leaves out rows that seem to be outliers.
  Sample sample(bool outliers) {
    if (outliers || !std::ranges::is_sorted(x)) arrange(outliers);
    Sample out;
    out.x = std::move(x);
    out.x2 = std::move(x2);
    out.y = std::move(y);
    if (!sigma.empty()) out.weigh(sigma);
    if (!out.x.empty()) out.measure();
    return out;
  }

 private:
  void arrange(bool outliers) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return x[i]; });
    if (outliers && x2.empty()) leave_out_spikes(order, y);
    for (auto* const column : {&x, &x2, &y, &sigma}) {
      std::vector<double> sorted;
      for (const std::size_t i : order) {
        if (!column->empty()) sorted.push_back((*column)[i]);
      }
      *column = std::move(sorted);
    }
  }
};

// Calls visit(block) for blocks with the rows [first, last).
template <class Visit>
void Source::for_blocks(std::size_t first, std::size_t last, Visit visit) const {
  std::vector<std::vector<double>> memory(x_.size() + 2);
  Block block;
  block.x.resize(x_.size());
  const auto read = [&](const Column& column, std::vector<double>& copy) -> const double* {
    if (const double* const direct = column.direct_f64(block.first)) return direct;
    copy.resize(block.count);
    column.read(block.first, block.count, copy.data());
    return copy.data();
  };
  for (block.first = first; block.first < last; block.first += block.count) {
    block.count = std::min(kBlock, last - block.first);
    for (std::size_t k = 0; k < x_.size(); ++k) block.x[k] = read(x_.list()[k], memory[k]);
    block.y = read(y_, memory[x_.size()]);
    if (!hints_.sigma.empty()) block.sigma = read(hints_.sigma, memory.back());
    visit(block);
  }
}

// Calls visit(block, i) for entries of blocks with these rows.
template <class Visit>
void Source::for_rows(std::size_t first, std::size_t last, Visit visit) const {
  for_blocks(first, last, [&](const Block& block) {
    for (std::size_t i = 0; i < block.count; ++i) visit(block, i);
  });
}

void Sample::measure() {
  x_min = x.front();
  span = one_x() ? 1.0 : x.back() - x.front();
  y_min = least_of(y);
  y_max = most_of(y);
  const auto square = [&](std::size_t i) { return squared_weight(weight, i); };
  // Sums differences from the first y, so that the mean of equal y is exact.
  y_mean = y.front() + sum_of(rows(), [&](std::size_t i) { return square(i) * (y[i] - y.front()); }) /
                           sum_of(rows(), square);
}

void Sample::weigh(const std::vector<double>& errors) {
  std::vector<double> sorted = errors;
  const double least = ranked(sorted, sorted.size() / 10);
  weight.clear();
  if (std::ranges::all_of(errors, [&](double s) { return s <= least; })) return;
  for (const double s : errors) weight.push_back(std::max(kLeastWeight, least / std::max(least, s)));
}

std::vector<double> Sample::sigma() const {
  std::vector<double> errors;
  for (const double w : weight) errors.push_back(1 / w);
  return errors;
}

void Source::expect_gaps(bool gaps) const {
  for (const Column& column : x_.list()) column.expect_gaps(gaps);
  y_.expect_gaps(gaps);
  hints_.sigma.expect_gaps(gaps);
}

void Source::will_read(std::size_t row) const {
  for (const Column& column : x_.list()) column.will_read(row, 1);
  y_.will_read(row, 1);
  hints_.sigma.will_read(row, 1);
}

Sample Source::spread(std::size_t& outside, std::size_t& unusable) const {
  Rows rows;
  rows.reserve(std::min(y_.size(), most_));
  outside = unusable = 0;
  const auto look_at = [&](const Block& block, std::size_t i) {
    if (!block.usable(i)) ++unusable;
    else if (in_domain(block.x[0][i], domain_)) rows.add(block, i);
    else ++outside;
  };
  const std::size_t n = y_.size();
  if (n <= most_) {
    for_blocks(0, n, [&](const Block& block) {
      if (domain_ == Domain::all && block.all_usable()) return rows.add_all(block);
      for (std::size_t i = 0; i < block.count; ++i) look_at(block, i);
    });
  } else {
    const bool gaps = n / most_ >= kLongGap;
    const auto for_picked = [&](auto use) {
      for (std::size_t k = 0; k < most_; ++k) use(pick_row(k, most_, n));
    };
    if (gaps) expect_gaps(true);
    if (gaps) for_picked([&](std::size_t row) { will_read(row); });
    for_picked([&](std::size_t row) { for_rows(row, row + 1, look_at); });
    if (gaps) expect_gaps(false);
  }
  return rows.sample(hints_.outliers);
}

bool Source::ascends() const {
  if (ascends_) return *ascends_;
  const Column& x = x_.list()[0];
  std::vector<double> block(kBlock);
  double before = -std::numeric_limits<double>::infinity();
  ascends_ = true;
  for (std::size_t first = 0; first < x.size() && *ascends_; first += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - first);
    x.read(first, count, block.data());
    ascends_ = !(block[0] < before) &&
               std::is_sorted(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
    before = block[count - 1];
  }
  return *ascends_;
}

// Returns the rows with x in [low, high]: an index range if x ascends, otherwise all rows.
std::pair<std::size_t, std::size_t> Source::index_range(double low, double high) const {
  if (!ascends()) return {0, rows()};
  const Column& x = x_.list()[0];
  const auto first_row = [&](auto reached) {  // where x is far enough
    const auto all = std::views::iota(std::size_t{0}, rows());
    const auto first = std::ranges::partition_point(all, [&](std::size_t row) { return !reached(x[row]); });
    return static_cast<std::size_t>(first - all.begin());
  };
  return {first_row([&](double at) { return !(at < low); }), first_row([&](double at) { return high < at; })};
}

Sample Source::pick(double low, double high) const {
  const auto [first, last] = index_range(low, high);
  const auto inside = [&](const Block& block, std::size_t i) {
    const double at = block.x[0][i];
    return at >= low && at <= high && block.usable(i) && in_domain(at, domain_);
  };
  Rows rows;
  std::size_t count = 0;
  for_rows(first, last, [&](const Block& block, std::size_t i) {
    if (inside(block, i) && ++count <= most_) rows.add(block, i);
  });
  if (count <= most_) return rows.sample(hints_.outliers);
  rows = {};
  std::size_t seen = 0, chosen = 0, next = pick_row(0, most_, count);
  for_rows(first, last, [&](const Block& block, std::size_t i) {
    if (!inside(block, i) || seen++ != next) return;
    rows.add(block, i);
    if (++chosen < most_) next = pick_row(chosen, most_, count);
  });
  return rows.sample(hints_.outliers);
}

Sample Source::average(double low, double high) const {
  const auto [first, last] = index_range(low, high);
  std::vector<double> count(most_), total(most_), sum_x(most_), sum_y(most_);
  const double cells_per_x = static_cast<double>(most_) / (high > low ? high - low : 1.0);
  for_rows(first, last, [&](const Block& block, std::size_t i) {
    const double at = block.x[0][i];
    if (!(at >= low && at <= high) || !block.usable(i) || !in_domain(at, domain_)) return;
    const std::size_t cell = std::min(most_ - 1, static_cast<std::size_t>((at - low) * cells_per_x));
    const double w = block.sigma == nullptr ? 1.0 : 1 / (block.sigma[i] * block.sigma[i]);
    count[cell] += 1;
    total[cell] += w;
    sum_x[cell] += w * (at - low);
    sum_y[cell] += w * block.y[i];
  });
  Sample sample;
  std::vector<double> errors;
  for (std::size_t cell = 0; cell < most_; ++cell) {
    if (count[cell] == 0) continue;
    sample.x.push_back(low + sum_x[cell] / total[cell]);
    sample.y.push_back(sum_y[cell] / total[cell]);
    if (!hints_.sigma.empty()) errors.push_back(std::sqrt(count[cell] / total[cell]));
  }
  if (!errors.empty()) sample.weigh(errors);
  if (sample.rows() > 0) sample.measure();
  return sample;
}

bool Sample::flat() const {
  return y_max - y_min <=
         8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(y_max), std::abs(y_min));
}

std::vector<double> Sample::unit_x() const {
  std::vector<double> u(rows());
  for (std::size_t i = 0; i < rows(); ++i) u[i] = (x[i] - x_min) / span;
  return u;
}

}  // namespace nlsq::inline v0::guessing

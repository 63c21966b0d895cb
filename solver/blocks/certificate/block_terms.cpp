// Implements measure_terms(): magnitudes and rounding errors of the residuals and gradients of a block
// problem.
#include "blocks/certificate/block_terms.hpp"

#include "blocks/record_rows.hpp"
#include "certificate/certificate.hpp"
#include "certificate/hidden_minimum.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

struct RowTerms {
  double terms, residual, norm;  // terms: the largest of |residual|, first_order and the row's bound
  double first_order;            // Σ |J_ij| size_j
};

// Computes the terms of each row for these sizes of the tangent coordinates. Visits each row of J with its
// terms.
void sweep_terms(const BlockPoint& at, std::span<const double> sizes, std::span<const double> bounds,
                 const auto& visit) {
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    const double residual = std::fabs(row.residual());
    double first_order = 0, squares = 0;
    row.for_each([&](std::size_t j, double entry) {
      first_order += std::fabs(entry) * sizes[j];
      squares += entry * entry;
    });
    const double bound = bounds.empty() ? 0 : bounds[row.number] / (kRoundings * kUnitRoundoff);
    visit(row, RowTerms{std::max({residual, first_order, bound}), residual, std::sqrt(squares), first_order});
  });
}

// Adds |J_ij| times the terms of row i to sums[j].
void add_terms(const JacobianRow& row, double terms, std::vector<double>& sums) {
  row.for_each([&](std::size_t j, double entry) { sums[j] += std::fabs(entry) * terms; });
}

// RowTally counts rows in classes of similar size. There are two classes for each factor of two. The number
// of a class consists of the exponent of a size and of its first binary digit after the point. Infinite sizes
// and NaN have classes, too.
constexpr int kOtherDigits = 51;
constexpr std::size_t kClasses = std::size_t{1} << (63 - kOtherDigits);
std::size_t class_of(double size) { return std::bit_cast<std::uint64_t>(std::fabs(size)) >> kOtherDigits; }
double least_of(std::size_t number) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(number) << kOtherDigits);
}

// A map from the number of a class to a value. Most rows belong to a few classes, and only these have an
// entry. An array over all class numbers says where the entry of a class is.
template <class T>
class ByClass {
 public:
  struct Entry {
    std::size_t number = 0;
    T value{};
  };

  ByClass() { entries_.reserve(kOften); }
  T& operator[](std::size_t number) {
    std::uint16_t& place = place_[number];
    if (place == 0) {
      entries_.push_back({number, {}});
      place = static_cast<std::uint16_t>(entries_.size());
    }
    return entries_[place - 1u].value;
  }
  // Returns the entries in the order of their numbers.
  std::vector<Entry> sorted() const {
    std::vector<Entry> out = entries_;
    std::ranges::sort(out, {}, &Entry::number);
    return out;
  }

 private:
  static constexpr std::size_t kOften = 32;      // so many classes, or fewer
  std::array<std::uint16_t, kClasses> place_{};  // in entries_, from 1 on; 0 if the class is empty
  std::vector<Entry> entries_;
};

// Collects statistics of all rows. A problem may have millions of rows, so they are counted, not kept.
class RowTally {
 public:
  void add(const RowTerms& row) {
    const double square = row.residual * row.residual;
    squares_ += square;
    if (row.residual <= kRoundings * kUnitRoundoff * row.terms) vanishing_ += square;
    const double beside_norm = row.norm > 0 ? row.terms / row.norm : 0;
    Class& like = by_terms_[class_of(beside_norm)];
    ++like.rows;
    if (row.norm > 0) {
      ++by_norm_[class_of(row.norm)];
      largest_norm_ = std::max(largest_norm_, row.norm);
      like.beside_norm = std::max(like.beside_norm, row.residual / row.norm);
    }
    if (row.terms > 0) {
      double& furthest = row.norm > 0 ? like.beside_terms : constant_;
      furthest = std::max(furthest, row.residual / row.terms);
    }
  }

  // Returns the largest ratio of a residual to the terms of its row. The ratio is taken row by row, so that
  // one row of huge terms does not make the residuals of all others look like rounding errors. In rows whose
  // terms are almost 0, such as a prior that holds a parameter at 0, residuals would never be small beside
  // the terms. So terms are at least those that are typical of a row of this norm, which do not depend on the
  // weights of other rows.
  double furthest() const {
    const std::size_t middle = place_in(by_terms_, 0.5, [](const Class& c) { return c.rows; });
    const double typical = least_of(middle);
    double furthest = constant_;
    for (const auto& [size, rows] : by_terms_.sorted())
      furthest = std::max(furthest, size < middle ? rows.beside_norm / typical : rows.beside_terms);
    return furthest;
  }

  // Returns the part of ‖r‖² of rows whose residuals are rounding errors of their own terms.
  double vanishing() const { return squares_ > 0 ? vanishing_ / squares_ : 1; }

  // Returns the ratio of the largest norm of a row to the quantile `place` of the norms that are not 0.
  double spread(double place) const {
    if (largest_norm_ == 0) return 1;
    return largest_norm_ / least_of(place_in(by_norm_, place, [](std::size_t rows) { return rows; }));
  }

 private:
  struct Class {
    std::size_t rows = 0;
    double beside_terms = 0, beside_norm = 0;  // the largest residual / terms, and residual / norm
  };

  // Returns the class of the row in this place among all rows sorted by size; the place is a share. Returns 0
  // without rows.
  template <class T>
  static std::size_t place_in(const ByClass<T>& classes, double place, const auto& rows_of) {
    const std::vector<typename ByClass<T>::Entry> in_order = classes.sorted();
    std::size_t all = 0, before = 0;
    for (const auto& [number, c] : in_order) all += rows_of(c);
    const auto wanted = static_cast<std::size_t>(place * static_cast<double>(all));
    for (const auto& [number, c] : in_order) {
      if ((before += rows_of(c)) > wanted) return number;
    }
    return 0;
  }

  ByClass<Class> by_terms_;       // by terms / norm
  ByClass<std::size_t> by_norm_;  // how many rows are of this size
  double largest_norm_ = 0;
  double squares_ = 0, vanishing_ = 0;  // of all residuals, and of those that are rounding errors
  double constant_ = 0;                 // the largest residual beside its terms where the row of J is 0
};

// Does what RowTally::furthest() does where most parameters are 0, and so are the terms of their rows. Such a
// parameter is as inexact as the rows that it shares with others: in 2 a + b = 1e6, a = 0 is known to the
// digits of 1e6. So its size is the mean of the terms of those rows divided by |J_ij|, weighted by J_ij². The
// weight of a row cancels in each quotient. Other rows of the parameter then have terms of this size, and so
// do the zero parameters in them. `sums` holds Σ_i |J_ij| (terms of row i) by parameter.
double furthest_of_neighbours(const BlockPoint& at, std::vector<double> sizes, std::vector<double> sums,
                              std::span<const double> bounds, double furthest) {
  const std::vector<double>& squares = at.solver.squares();
  constexpr int kNeighbours = 8;
  for (int k = 0; k < kNeighbours && furthest > kVanishing; ++k) {
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (squares[j] > 0) sizes[j] = std::max(sizes[j], sums[j] / squares[j]);
    }
    std::ranges::fill(sums, 0.0);
    RowTally rows;
    sweep_terms(at, sizes, bounds, [&](const JacobianRow& row, const RowTerms& found) {
      rows.add(found);
      add_terms(row, found.terms, sums);
    });
    furthest = std::min(furthest, rows.furthest());
  }
  return furthest;
}

}  // namespace

std::vector<std::size_t> BlockPoint::free_columns() const {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < structure.tangent_size(); ++j) {
    if (!is_fixed(j)) free.push_back(j);
  }
  return free;
}

namespace {

// Computes for each direction of a step the length of the numbers that move along it. The direction of a line
// far from zero has the length 1 and not that of its point, and the rotation of a pose not that of its
// position.
void sizes_on_manifold(const Manifold& manifold, std::span<const double> x, std::span<double> sizes) {
  constexpr double kStep = 1e-3;  // visible in a rotation, which moves some numbers by half of its square
  const double whole = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  std::vector<double> step(sizes.size(), 0.0), moved(x.size());
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    step[j] = kStep;
    manifold.plus(x.data(), step.data(), moved.data());
    step[j] = 0;
    double squares = 0;
    bool moves = false, there = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      there = there && std::isfinite(moved[i]);
      if (moved[i] == x[i]) continue;
      moves = true;
      squares += x[i] * x[i];
    }
    sizes[j] = there && moves ? std::sqrt(squares) : whole;
  }
}

}  // namespace

std::vector<double> tangent_sizes(const Problem::Impl& problem, const BlockStructure& structure,
                                  std::span<const double> x) {
  std::vector<double> sizes(structure.tangent_size(), 0.0);
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    const std::int64_t first = structure.tangent_offset(p);
    if (first < 0) continue;
    const double* numbers = x.data() + structure.list.offsets[p];
    double* const to = sizes.data() + first;
    if (!block.manifold) {
      for (int j = 0; j < block.size; ++j) to[j] = std::fabs(numbers[j]);
      continue;
    }
    sizes_on_manifold(*block.manifold, {numbers, static_cast<std::size_t>(block.size)},
                      {to, static_cast<std::size_t>(block.tangent())});
  }
  return sizes;
}

namespace {

// Returns the step that would change x by its own size. On a manifold, the step in a tangent direction is the
// scalar product of x with the direction. If the direction is orthogonal to x, as for a rotation, that
// product is only rounding error. Then the sum of the absolute values of its terms is used.
std::vector<double> x_as_step(const BlockPoint& at) {
  constexpr double kAcross = 16 * kUnitRoundoff;
  std::vector<double> step(at.structure.tangent_size(), 0.0), plus;
  for (std::uint32_t p = 0; p < at.problem.parameters.size(); ++p) {
    const ParameterBlock& block = at.problem.parameters[p];
    const std::int64_t first = at.structure.tangent_offset(p);
    if (first < 0) continue;
    const double* numbers = at.x.data() + at.structure.list.offsets[p];
    const auto size = static_cast<std::size_t>(block.size),
               tangent = static_cast<std::size_t>(block.tangent());
    if (block.manifold) {
      plus.resize(size * tangent);
      block.manifold->plus_jacobian(numbers, plus.data());
    }
    for (std::size_t j = 0; j < tangent; ++j) {
      double along = block.manifold ? 0 : numbers[j], terms = 0;
      for (std::size_t i = 0; block.manifold && i < size; ++i) {
        const double product = plus[i * tangent + j] * numbers[i];
        along += product, terms += std::fabs(product);
      }
      step[static_cast<std::size_t>(first) + j] = std::fabs(along) < kAcross * terms ? terms : along;
    }
  }
  return step;
}

}  // namespace

bool terms_cancel(const BlockPoint& at) {
  constexpr double kCancel = 8;
  const std::vector<double> step = x_as_step(at);
  std::vector<double> sizes = step;
  for (double& size : sizes) size = std::fabs(size);
  NormOfMost data, terms;
  sweep_terms(at, sizes, {}, [&](const JacobianRow& row, const RowTerms& found) {
    data.add(row.times(step.data()));
    terms.add(found.first_order);
  });
  return terms.without_a_tenth() > kCancel * data.without_a_tenth();
}

BlockTerms measure_terms(const BlockPoint& at, std::span<const double> bounds) {
  const std::vector<double> sizes = tangent_sizes(at.problem, at.structure, at.x);
  const std::vector<double>& squares = at.solver.squares();
  BlockTerms out;
  out.bounded = !bounds.empty();
  double products = 0, squares_of_terms = 0;
  RowTally rows;
  std::vector<double> sums(sizes.size(), 0.0);
  sweep_terms(at, sizes, bounds, [&](const JacobianRow& row, const RowTerms& found) {
    rows.add(found);
    products += found.terms * found.residual;
    squares_of_terms += found.terms * found.terms;
    add_terms(row, found.terms, sums);
  });
  out.magnitude = std::sqrt(squares_of_terms);
  out.rounding = kUnitRoundoff * out.magnitude;
  out.vanishing = rows.vanishing();
  out.furthest = rows.furthest();
  out.spread = rows.spread(0.5);
  out.widest_spread = rows.spread(kLightRows);
  const double r = std::sqrt(2 * at.cost);
  if (out.furthest > kVanishing && r <= kVanishing * out.magnitude)
    out.furthest = furthest_of_neighbours(at, sizes, sums, bounds, out.furthest);
  // Bounds for a few roundings in each residual, and for sums of products with some tens of additions (as in
  // rounding_bounds.cpp).
  for (std::size_t j = 0; j < sums.size(); ++j)
    sums[j] = kUnitRoundoff * (4 * sums[j] + 32 * std::sqrt(squares[j]) * r);
  out.gradient_noise = std::move(sums);
  out.cost_noise =
      kUnitRoundoff *
      (8 * at.cost +
       4 * products / std::sqrt(std::max<double>(1, static_cast<double>(at.structure.residuals))));
  return out;
}

}  // namespace nlsq::inline v0

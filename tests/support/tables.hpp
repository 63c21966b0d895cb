// Makes rows whose Jacobian and residuals are a table of numbers. Evaluators and solvers are tested on them,
// because sums over a table can be computed in long double.
#pragma once

#include "dense/evaluator.hpp"

#include "rows/row_model.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace tables {

// Holds m rows with n columns of J, then r, column-major.
struct Table {
  std::size_t m = 0, n = 0;
  std::vector<std::vector<double>> columns;  // n + 1

  static Table random(std::size_t m, std::size_t n, unsigned seed) {
    Table t{m, n, std::vector(n + 1, std::vector<double>(m))};
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    for (auto& column : t.columns) {
      for (double& v : column) v = normal(engine);
    }
    return t;
  }
  // Returns the table rounded to float, which is what f32 rows contain.
  Table rounded() const {
    Table t = *this;
    for (auto& column : t.columns) {
      for (double& v : column) v = static_cast<double>(static_cast<float>(v));
    }
    return t;
  }
  long double product(std::size_t i, std::size_t j) const {
    long double sum = 0;
    for (std::size_t k = 0; k < m; ++k) sum += static_cast<long double>(columns[i][k]) * columns[j][k];
    return sum;
  }
  // Returns Σ |a b|, which scales the rounding error of the sum.
  double size(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t k = 0; k < m; ++k) sum += std::fabs(columns[i][k] * columns[j][k]);
    return sum;
  }
};

// Returns the linearization that an exact evaluator would return.
inline nlsq::Linearization linearized(const Table& t, bool with_triangle = false) {
  nlsq::Linearization at;
  at.plan = {nlsq::Format::f64, with_triangle ? nlsq::Gram::qr : nlsq::Gram::f64};
  at.cost = static_cast<double>(t.product(t.n, t.n) / 2);
  at.gradient.resize(t.n);
  at.normal = nlsq::Matrix(t.n, t.n);
  for (std::size_t i = 0; i < t.n; ++i) {
    at.gradient[i] = static_cast<double>(t.product(i, t.n));
    for (std::size_t j = 0; j < t.n; ++j) at.normal(i, j) = static_cast<double>(t.product(i, j));
  }
  if (!with_triangle) return at;
  at.triangle = nlsq::Matrix(t.n + 1, t.n + 1);
  auto copy = t.columns;
  std::vector<double*> pointers;
  for (auto& column : copy) {
    column.resize((t.m + 63) / 64 * 64);
    pointers.push_back(column.data());
  }
  nlsq::KernelCounters counters;
  nlsq::kernels().qr_fold(at.triangle.data(), t.n + 1, static_cast<int>(t.n + 1), pointers.data(), t.m,
                          &counters);
  return at;
}

// Gives the table as a row model: J is constant and r does not depend on x. f32 rows come from `low`.
class TableRows : public nlsq::RowModel {
 public:
  TableRows(Table high, Table low, std::size_t tile)
      : high_(std::move(high)), low_(std::move(low)), tile_(tile) {}

  int parameters() const override { return static_cast<int>(high_.n); }
  std::size_t rows() const override { return high_.m; }
  std::size_t tile_rows() const override { return tile_; }
  bool has_f32() const override { return true; }
  const char* kind() const override { return "table"; }
  double row_cost(nlsq::Fill fill) const override { return fill == nlsq::Fill::residual ? 1 : 10; }
  std::unique_ptr<nlsq::TilePass> begin(std::span<const double>, nlsq::Fill fill, bool) const override {
    return std::make_unique<Pass>(*this, fill);
  }
  void reference_residuals(std::span<const double>, std::size_t first, std::size_t count, double* r,
                           double* magnitude) const override {
    for (std::size_t i = 0; i < count; ++i) {
      r[i] = high_.columns[high_.n][first + i];
      magnitude[i] = std::fabs(r[i]);
    }
  }

 private:
  class Pass final : public nlsq::TilePass {
   public:
    Pass(const TableRows& owner, nlsq::Fill fill) : owner_(owner), fill_(fill) {}
    double* const* fill_f64(std::size_t first, std::size_t count, nlsq::KernelCounters& k) override {
      k.rows_f64 += count;
      return copy(owner_.high_, first, count, wide_, wide_pointers_);
    }
    float* const* fill_f32(std::size_t first, std::size_t count, nlsq::KernelCounters& k) override {
      k.rows_f32 += count;
      return copy(owner_.low_, first, count, narrow_, narrow_pointers_);
    }

   private:
    template <class T>
    T* const* copy(const Table& from, std::size_t first, std::size_t count, std::vector<T>& to,
                   std::vector<T*>& pointers) {
      const std::size_t stride = (owner_.tile_ + 63) / 64 * 64;
      to.assign(stride * from.columns.size(), T(NAN));  // rows beyond the count must not affect results
      pointers.assign(from.columns.size(), nullptr);
      for (std::size_t c = fill_ == nlsq::Fill::residual ? from.n : 0; c <= from.n; ++c) {
        pointers[c] = to.data() + c * stride;
        for (std::size_t i = 0; i < count; ++i) pointers[c][i] = static_cast<T>(from.columns[c][first + i]);
      }
      return pointers.data();
    }
    const TableRows& owner_;
    nlsq::Fill fill_;
    std::vector<double> wide_;
    std::vector<float> narrow_;
    std::vector<double*> wide_pointers_;
    std::vector<float*> narrow_pointers_;
  };

  Table high_, low_;
  std::size_t tile_;
};

}  // namespace tables

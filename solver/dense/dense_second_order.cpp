// Second-order differences of the residuals, for geodesic acceleration and Newton steps.
#include "dense/dense_pass.hpp"

#include "kernels/flush_tiny.hpp"
#include "rows/sample_rows.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Computes out = J v for `rows` rows of J, four columns at a time, which reads and writes `out` less often.
void times(const double* const* J, std::span<const double> v, std::size_t rows, double* out) {
  std::fill_n(out, rows, 0.0);
  std::size_t j = 0;
  for (; j + 4 <= v.size(); j += 4) {
    const double *const a = J[j], *const b = J[j + 1], *const c = J[j + 2], *const d = J[j + 3];
    for (std::size_t i = 0; i < rows; ++i)
      out[i] = out[i] + a[i] * v[j] + b[i] * v[j + 1] + c[i] * v[j + 2] + d[i] * v[j + 3];
  }
  for (; j < v.size(); ++j)
    for (std::size_t i = 0; i < rows; ++i) out[i] += J[j][i] * v[j];
}

// Adds Jᵀ w to `sums`, row after row. Some columns go side by side, so that their chains of sums overlap.
void add_transposed(const double* const* J, std::size_t n, const double* w, std::size_t rows, double* sums) {
  constexpr std::size_t kBeside = 8;
  std::size_t j = 0;
  for (; j + kBeside <= n; j += kBeside) {
    double part[kBeside];
    std::copy_n(sums + j, kBeside, part);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < kBeside; ++k) part[k] += J[j + k][i] * w[i];
    std::copy_n(part, kBeside, sums + j);
  }
  for (; j < n; ++j)
    for (std::size_t i = 0; i < rows; ++i) sums[j] += J[j][i] * w[i];
}

}  // namespace

// Sums Jᵀ r_vv by the formula of Transtrum & Sethna: r_vv ≈ 2/h ((r(x + hv) - r(x))/h - J v). The caller must
// check whether the sums are finite, because rows may be undefined at the moved point.
void DenseEvaluator::sum_second_order(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch,
                                      Sums& sums) {
  const auto n = static_cast<std::size_t>(parameters());
  const double h = pass.step;
  TilePass& here = scratch.pass(model_, pass.x, Fill::jacobian_and_residual, false);
  TilePass& there = scratch.pass(model_, pass.moved, Fill::residual, false);
  Vector& r_vv = scratch.tile;
  r_vv.resize(model_.tile_rows());
  for (std::size_t t = begin; t < end; ++t) {
    const TileRange range = model_.tile(t);
    const double* const* J = here.fill_f64(range.first, range.count, sums.parts[0]);
    const double* const moved_r = there.fill_f64(range.first, range.count, sums.parts[0])[n];
    const double* const r = J[n];
    const FlushTiny flush(!pass.keep_tiny);
    times(J, pass.direction, range.count, r_vv.data());
    for (std::size_t i = 0; i < range.count; ++i) r_vv[i] = 2 / h * ((moved_r[i] - r[i]) / h - r_vv[i]);
    add_transposed(J, n, r_vv.data(), range.count, sums.packed.data());
    for (std::size_t i = 0; i < range.count; ++i) sums.packed[n] += r_vv[i] * r_vv[i];
  }
}

double DenseEvaluator::second_order_into(std::span<const double> x, std::span<const double> direction,
                                         double h, Vector& out) {
  const auto n = static_cast<std::size_t>(parameters());
  Vector& moved = scratch_->moved;
  moved.assign(x.begin(), x.end());
  for (std::size_t j = 0; j < n; ++j) moved[j] += h * direction[j];
  const Pass pass{.x = x,
                  .fill = Fill::jacobian_and_residual,
                  .plan = kF64Plan,
                  .direction = direction,
                  .moved = moved,
                  .step = h};
  // Where the user's function computes all rows in one call, tasks must not call it. So the calling thread
  // sums.
  const auto summed_here = [&]() -> const Sums& {
    sums_.resize(std::max<std::size_t>(1, sums_.size()));
    Sums& sums = sums_.front();
    sums.restart(pass, n + 1, std::max<std::size_t>(1, model_.components().size()));
    sum_second_order(0, model_.tile_count(), pass, *scratch_, sums);
    counters_.add(sums.parts.front());
    work_ += work_of(pass, row_work(pass));
    return sums;
  };
  const Sums& sums = model_.one_point() ? summed_here() : accumulate(pass);
  out.assign(sums.packed.begin(), sums.packed.end() - 1);
  return sums.packed.back();
}

bool DenseEvaluator::second_order_part(std::span<const double> x, std::span<const double> direction,
                                       std::size_t rows, Vector& out) {
  if (model_.one_point() || rows >= model_.rows()) return false;
  SampleRows sample(model_, rows);
  DenseEvaluator part(sample, parallelism_);
  part.second_order_into(x, direction, 1, out);
  add_work(part);
  for (double& v : out) v *= static_cast<double>(model_.rows()) / static_cast<double>(sample.rows());
  return true;
}

}  // namespace nlsq::inline v0

// Computes covariances of chosen parameter blocks: columns of H⁻¹, H = JᵀJ, from the factors of the solve.
// Each column is refined against J itself with the residual e - Jᵀ(J x); the size of the last correction
// estimates the error (Higham, Accuracy and Stability of Numerical Algorithms, 12.1). If the error is too
// large, or H is not positive definite in f64, a small J is factored directly: QR, then the SVD of R, with
// columns scaled to unit length.
#include "blocks/certificate/block_distance.hpp"
#include "blocks/prepared_problem.hpp"
#include "blocks/record_rows.hpp"
#include "blocks/schur/null_space.hpp"
#include "dense/dense_algebra.hpp"
#include "linear/small_svd.hpp"
#include "support/all_finite.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/covariance.hpp>
#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kErrorAllowed = 1e-6;    // above this error, J itself is factored
constexpr int kMostRefinements = 5;       // of a column; rows of large weight need more than one
constexpr double kWorthless = 1e-2;       // above this error, the covariance is rejected
constexpr double kLeastSingular = 1e-11;  // relative to the largest; directions below it are not determined
constexpr std::size_t kMostDense = 1000;  // unknowns
constexpr double kMostWork = 8e9;         // multiply-adds of the factorisation

// Holds the singular values of a square matrix in descending order, and its right singular vectors one after
// the other.
struct SingularValues {
  std::vector<double> values, V;
};

}  // namespace

struct CovarianceWork {
  Problem::Impl& impl;
  const CovarianceOptions& options;
  std::vector<double> x;
  BlockCovariance out = {};
  std::shared_ptr<PreparedProblem> prepared = nullptr;
  std::vector<double> r = {}, scale = {};
  std::vector<std::size_t> columns = {};  // tangent index of each chosen one
  double cost = 0;
  std::vector<double> own = {};  // residuals from the user's functions
  bool by_differences = false;   // some derivatives are finite differences
  double unrefined = 0;          // the largest relative error of a column before its refinement
  double difference_error = 0;   // the estimated relative error of a column of J because of that

  RecordReader<double>& J() const { return prepared->model.records<double>(); }
  std::size_t size() const { return prepared->structure.tangent_size(); }

  void choose(const std::vector<const double*>& blocks) {
    for (const double* data : blocks) {
      const std::uint32_t known = impl.parameter_at(data);
      if (known == BlockAddresses::kNone)
        throw ValidationError("covariance: this pointer is no parameter block of the problem");
      const ParameterBlock& block = impl.parameters[known];
      BlockCovariance::Chosen chosen;
      chosen.data = data;
      chosen.ambient = static_cast<std::size_t>(block.size);
      chosen.tangent = static_cast<std::size_t>(block.manifold ? block.manifold->tangent() : block.size);
      chosen.held = block.constant;
      chosen.first = columns.size();
      chosen.plus.assign(chosen.ambient, chosen.tangent);
      if (block.manifold && chosen.tangent > 0) block.manifold->plus_jacobian(data, chosen.plus.data());
      for (std::size_t i = 0; !block.manifold && i < chosen.tangent; ++i) chosen.plus(i, i) = 1;
      const std::int64_t offset = prepared->structure.tangent_offset(known);
      chosen.used = offset >= 0;
      for (std::size_t i = 0; offset >= 0 && i < chosen.tangent; ++i)
        columns.push_back(static_cast<std::size_t>(offset) + i);
      out.chosen_.push_back(std::move(chosen));
    }
    out.tangent_.assign(columns.size(), columns.size(), kNaN);
  }

  // Evaluates J in f64 at the current values. Returns false if it is not available.
  bool linearize() {
    BlockModel& model = prepared->model;
    cost = model.cost(x, r);
    if (model.carried() && model.carries_wrongly(x, r)) {
      model.record_again(x);
      cost = model.cost(x, r);
    }
    if (!model.recheck(x, r, own).agrees) {
      model.distrust("a program gave other residuals than the function itself");
      cost = model.cost(x, r);
    }
    if (!std::isfinite(cost)) return false;
    by_differences = model.evaluator().counts().differences > 0;
    model.apply_losses(options.apply_losses);
    // Steps of central differences are chosen at the start of a solve, and beside an offset they are only
    // good enough for a step. Here the error of each derivative counts and has to be known.
    if (by_differences) model.extrapolate_differences(x);
    model.linearize<double>(x, r);
    prepared->solver.gather<double, double>(J());
    model.keep_all();  // each column of the covariance reads them several times
    if (by_differences) difference_error = model.difference_error();
    model.settle(x);
    model.end_extrapolation();
    model.apply_losses(true);
    scale = column_norms(prepared->solver);
    return all_finite(scale);
  }

  // Refines column j of H⁻¹ once. Returns the size of the change, relative to the column.
  double refine(std::size_t j, std::vector<double>& column) {
    SchurSolver& solver = prepared->solver;
    std::vector<double> image(size());
    solver.multiply(J(), column, image);
    for (double& v : image) v = -v;
    image[j] += 1;
    solver.solve_factored(J(), image);
    double changed = 0, whole = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      changed += std::pow(scale[i] * image[i], 2);
      column[i] += image[i];
      whole += std::pow(scale[i] * column[i], 2);
    }
    const double share = std::sqrt(changed / whole);
    return std::isnan(share) ? kInfinity : share;
  }

  // Uses the normal equations. Returns false if they are not positive definite or the result has no correct
  // digit.
  bool by_elimination() {
    SchurSolver& solver = prepared->solver;
    if (!solver.factor(J())) return false;
    std::vector<double> column(size());
    double worst = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      std::ranges::fill(column, 0.0);
      column[columns[k]] = 1;
      solver.solve_factored(J(), column);
      const double first = refine(columns[k], column);
      double share = first;
      for (int i = 1; i < kMostRefinements && share > kErrorAllowed; ++i) {
        const double before = share;
        share = refine(columns[k], column);
        if (!(share < before / 2)) break;
      }
      unrefined = std::max(unrefined, first);
      worst = std::max(worst, share);
      for (std::size_t i = 0; i < columns.size(); ++i) out.tangent_(i, k) = column[columns[i]];
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k)
        out.tangent_(i, k) = out.tangent_(k, i) = 0.5 * (out.tangent_(i, k) + out.tangent_(k, i));
    }
    out.error = worst;
    return worst <= kWorthless;
  }

  // Returns the relative length of J along a direction up to which the data do not determine it.
  double least_singular() const {
    const double error = std::max(kUnitRoundoff, difference_error);  // of J
    return std::max(kLeastSingular, std::sqrt(static_cast<double>(size())) * error);
  }

  // Returns true if some directions are clearly not determined and all others clearly are. Counts them. This
  // takes a small part of the time of singular values.
  bool has_null_space() {
    constexpr double kLeastDamping = 1e-15, kMostDamping = 1e-9;
    BlockStep step;
    for (double lambda = kLeastDamping; lambda <= kMostDamping && !step.factored; lambda *= 10)
      prepared->solver.solve<double, double>(J(), lambda, scale, step);
    if (!step.factored) return false;
    NullSpace null(prepared->solver, J(), scale, {});
    if (!null.find(size(), least_singular()) || null.size() == 0) return false;
    out.rank = static_cast<int>(size() - null.size());
    return true;
  }

  bool is_small() const {
    const auto n = static_cast<double>(size()),
               m = std::max(static_cast<double>(prepared->structure.residuals), n);
    return size() <= kMostDense && 2 * m * n * n <= kMostWork;
  }

  // Returns the SVD of J D⁻¹, D = diag(by), computed from its triangular factor.
  SingularValues decompose(std::span<const double> by) const {
    const std::size_t n = size(), rows = std::max(prepared->structure.residuals, n);
    std::vector<double> A(rows * n);
    std::size_t i = 0;
    for_each_record_row(prepared->structure, J(), [&](const JacobianRow& row) {
      row.for_each([&](std::size_t j, double entry) { A[j * rows + i] = entry / by[j]; });
      ++i;
    });
    dense::householder_qr(A.data(), rows, n);
    std::vector<double> R(n * n), no_right_side(n), projected(n);
    for (std::size_t j = 0; j < n; ++j) std::copy_n(&A[j * rows], j + 1, &R[j * n]);
    SingularValues svd{std::vector<double>(n), std::vector<double>(n * n)};
    small_svd(R.data(), n, no_right_side.data(), svd.values.data(), svd.V.data(), projected.data());
    return svd;
  }

  // Computes B Bᵀ, where B holds the chosen rows of D⁻¹ V Σ⁻¹. Singular values after the first `kept` are
  // dropped.
  void from_singular_values(const SingularValues& svd, std::span<const double> by, std::size_t kept) {
    const std::size_t n = size();
    std::vector<double> B(columns.size() * kept);  // by rows
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t k = 0; k < kept; ++k)
        B[i * kept + k] = svd.V[k * n + columns[i]] / svd.values[k] / by[columns[i]];
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        out.tangent_(i, k) = out.tangent_(k, i) = dense::dot(&B[i * kept], &B[k * kept], kept);
      }
    }
  }

  void by_singular_values() {
    const SingularValues scaled = decompose(scale);
    const std::vector<double>& s = scaled.values;
    const std::size_t n = size();
    const double error = std::max(kUnitRoundoff, difference_error);  // of J
    const auto rank = static_cast<std::size_t>(
        std::ranges::count_if(s, [&](double v) { return v > least_singular() * s[0]; }));
    out.rank = static_cast<int>(rank);
    out.determined = rank == n;
    if (out.determined) {
      out.error = static_cast<double>(n) * error * s[0] / s[n - 1];
      out.determined = out.error <= kWorthless;
      if (out.determined) return from_singular_values(scaled, scale, n);
      out.rank = -1;
    }
    if (!options.pseudo_inverse) return;
    // Which directions count as determined depends on the scaling. By convention the pseudo-inverse uses the
    // parameters' own units.
    const std::vector<double> ones(n, 1.0);
    const SingularValues plain = decompose(ones);
    out.error = static_cast<double>(n) * error * plain.values[0] / plain.values[rank - 1];
    from_singular_values(plain, ones, rank);
  }

  void forget_covariance() {
    std::fill_n(out.tangent_.data(), columns.size() * columns.size(), kNaN);
    out.error = 0;
  }

  void invert() {
    out.parameters = static_cast<int>(size());
    out.determined = by_elimination();
    if (out.determined) out.rank = out.parameters;
    if (out.determined && out.error <= kErrorAllowed && !by_differences) return;
    const bool lost = !out.determined && !options.pseudo_inverse && has_null_space();
    if (lost || is_small()) forget_covariance();
    if (lost) return;
    if (is_small()) return by_singular_values();
    if (out.determined && by_differences) {  // The error by elimination is about u κ².
      const double condition = std::sqrt(std::max(unrefined, kUnitRoundoff) / kUnitRoundoff);
      out.error = std::max(out.error, static_cast<double>(size()) * difference_error * condition);
      out.determined = out.error <= kWorthless;
    }
    if (out.determined) return;
    forget_covariance();
    out.rank = prepared->solver.rank(J(), scale).rank;
    if (out.rank == out.parameters) out.rank = -1;  // pivots alone cannot decide so close a case
    if (options.pseudo_inverse) {
      throw ValidationError(
          fmt::format("covariance: a pseudo-inverse of {} numbers is asked for; up to {} are looked at",
                      size(), kMostDense));
    }
  }

  void describe() {
    const double left = static_cast<double>(r.size()) - (out.rank >= 0 ? out.rank : out.parameters);
    double squares = 0;
    for (const double v : r) squares += v * v;
    out.residual_variance = left > 0 ? squares / left : kNaN;
    const std::span<const double> all(out.tangent_.data(), columns.size() * columns.size());
    if (out.determined && !all_finite(all)) {
      out.determined = false;
      forget_covariance();
      out.message = "a covariance is outside the range of float64; scale the residuals or the parameters";
    } else if (out.determined) {
      out.message = fmt::format("all {} directions are determined; relative error {:.0e}", out.parameters,
                                std::max(out.error, kUnitRoundoff));
    } else {
      out.message = out.rank >= 0
                        ? fmt::format("the data determine {} of {} directions", out.rank, out.parameters)
                        : fmt::format("the data do not determine all {} directions, or not to one digit",
                                      out.parameters);
      if (by_differences) out.message += ", as far as derivatives by finite differences show";
      out.message +=
          options.pseudo_inverse
              ? "; pseudo-inverse"
              : "; hold blocks constant until the rest is determined, or ask for the pseudo-inverse";
    }
  }
};

BlockCovariance covariance(Problem& problem, const std::vector<const double*>& blocks,
                           const CovarianceOptions& options) {
  const FpEnvironment environment;
  Problem::Impl& impl = problem.impl();
  impl.close_gaps();
  CovarianceWork work{.impl = impl, .options = options, .x = numbers_of(impl)};
  work.prepared = take_prepared(impl, work.x, options, StepSolver::factored, nullptr);
  work.choose(blocks);
  if (work.linearize()) {
    work.invert();
    work.describe();
  } else {
    work.out.parameters = static_cast<int>(work.size());
    work.out.residual_variance = kNaN;
    work.out.message = "the residuals or their derivatives are not finite at the present values";
  }
  keep_prepared(impl, std::move(work.prepared));
  return std::move(work.out);
}

std::size_t BlockCovariance::place(const double* block) const {
  const auto found = std::ranges::find(chosen_, block, &Chosen::data);
  if (found == chosen_.end()) throw ValidationError("covariance: this parameter block was not chosen");
  return static_cast<std::size_t>(found - chosen_.begin());
}

Matrix BlockCovariance::tangent_block(const double* a, const double* b) const {
  const Chosen &p = chosen_[place(a)], &q = chosen_[place(b)];
  const bool held = p.held || q.held;
  Matrix out(p.tangent, q.tangent, held ? 0 : kNaN);
  for (std::size_t i = 0; !held && p.used && q.used && i < p.tangent; ++i) {
    for (std::size_t j = 0; j < q.tangent; ++j) out(i, j) = tangent_(p.first + i, q.first + j);
  }
  return out;
}

Matrix BlockCovariance::block(const double* a, const double* b) const {
  const Chosen &p = chosen_[place(a)], &q = chosen_[place(b)];
  const Matrix inner = tangent_block(a, b);
  Matrix out(p.ambient, q.ambient);
  for (std::size_t i = 0; i < p.ambient; ++i) {
    for (std::size_t j = 0; j < q.ambient; ++j) {
      for (std::size_t k = 0; k < p.tangent; ++k) {
        for (std::size_t l = 0; l < q.tangent; ++l) out(i, j) += p.plus(i, k) * inner(k, l) * q.plus(j, l);
      }
    }
  }
  return out;
}

Matrix BlockCovariance::joint() const {
  std::size_t all = 0;
  for (const Chosen& chosen : chosen_) all += chosen.ambient;
  Matrix out(all, all);
  std::size_t row = 0;
  for (const Chosen& p : chosen_) {
    std::size_t column = 0;
    for (const Chosen& q : chosen_) {
      const Matrix part = block(p.data, q.data);
      for (std::size_t i = 0; i < p.ambient; ++i) {
        for (std::size_t j = 0; j < q.ambient; ++j) out(row + i, column + j) = part(i, j);
      }
      column += q.ambient;
    }
    row += p.ambient;
  }
  return out;
}

}  // namespace nlsq::inline v0

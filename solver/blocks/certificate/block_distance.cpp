// Computes rank, undamped step and decrement at a point of a block problem. The certificate uses it.
#include "blocks/certificate/block_distance.hpp"

#include "blocks/certificate/rank_bound.hpp"
#include "blocks/record_rows.hpp"
#include "blocks/schur/null_space.hpp"
#include "dense/dense_algebra.hpp"
#include "linear/determined_subspace.hpp"
#include "linear/dot.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kLeastDamping = 1e-15, kMostDamping = 1e-6;
constexpr int kRefinements = 3;
constexpr double kEnough = 1e-8;  // gain of a refinement, relative to the predicted decrease so far
// Limits on unknowns and multiply-adds up to which QR takes almost no time.
constexpr std::size_t kFewColumns = 64;
constexpr double kFewProducts = 4e6;
constexpr std::size_t kDoubtColumns = 400;  // the same limits where the factorisation fails
constexpr double kDoubtProducts = 2e9;
constexpr double kStepProducts = 1e8;   // the same limit for every step
constexpr double kLeastProducts = 2e4;  // up to this many, QR takes less time than the elimination

// Returns the number of multiply-adds of a QR factorisation of J.
double qr_products(const BlockPoint& at) {
  const double n = static_cast<double>(at.free());
  return 2 * static_cast<double>(at.structure.residuals) * n * n;
}

constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

// Returns the place of each tangent coordinate among these columns, or kNoPlace.
std::vector<std::size_t> places_of(const BlockPoint& at, std::span<const std::size_t> columns) {
  std::vector<std::size_t> places(at.structure.tangent_size(), kNoPlace);
  for (std::size_t k = 0; k < columns.size(); ++k) places[columns[k]] = k;
  return places;
}

// Returns the columns of J that are free, one after the other, and r. Rows of zeros fill J up to a square
// matrix.
DenseRows dense_rows(const BlockPoint& at, std::span<const std::size_t> free) {
  const std::size_t n = free.size();
  DenseRows out{std::max(at.structure.residuals, n), n, {}, {}};
  out.J.assign(out.rows * n, 0.0);
  out.r.assign(out.rows, 0.0);
  const std::vector<std::size_t> places = places_of(at, free);
  std::size_t i = 0;
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    row.for_each([&](std::size_t j, double entry) {
      if (places[j] == kNoPlace) return;
      out.J[places[j] * out.rows + i] = entry;
      out.finite = out.finite && std::isfinite(entry);
    });
    out.finite = out.finite && std::isfinite(row.residual());
    out.r[i++] = row.residual();
  });
  return out;
}

// Returns the place among all residuals of each row of dense_rows().
std::vector<std::uint32_t> row_numbers(const BlockPoint& at) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(at.structure.residuals);
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    numbers.push_back(static_cast<std::uint32_t>(row.number));
  });
  return numbers;
}

bool is_small(const BlockPoint& at, std::size_t columns, double products) {
  return !at.solver.iterative() && at.free() <= columns && qr_products(at) <= products;
}

// Returns true if analyse_lightened() would show no rank above this one.
bool lightened_rank_is_at_most(int rank, const BlockPoint& at, const DenseRows& A) {
  RankBound bound;
  const std::vector<std::uint32_t> numbers = row_numbers(at);
  const auto holds_for = [&](double place) {
    const std::vector<double> in_order = lightening_factors(A, place);
    std::vector<double> factors(at.structure.residuals);
    for (std::size_t i = 0; i < numbers.size(); ++i) factors[numbers[i]] = in_order[i];
    return bound.at_most(static_cast<std::size_t>(rank), at.structure, at.model.records<double>(), factors);
  };
  return rank > 0 && holds_for(0.5) && holds_for(kLightRows);
}

// Measures the distance by QR of J. Where J is small, this takes almost no time. Rows of huge weight hide the
// directions that only other rows determine, so the rank is computed from rows scaled to similar weight.
BlockDistance by_triangle(const BlockPoint& at, std::span<const double> norms) {
  BlockDistance out;
  const std::vector<std::size_t> free = at.free_columns();
  const std::size_t n = free.size();
  out.step.assign(at.structure.tangent_size(), 0.0);
  out.known = out.qr = true;
  if (n == 0) {
    out.rank = 0;
    out.condition = 1;
    return out;
  }
  std::vector<double> scale(n);
  for (std::size_t j = 0; j < n; ++j) scale[j] = norms[free[j]];
  const DenseRows A = dense_rows(at, free);
  if (!A.finite) return {};
  RowAnalysis found = analyse_rows(A, scale);
  Certificate& c = found.least.certificate;
  const bool full = c.rank == static_cast<int>(n);
  if ((full && found.spread > kHeavyRows) ||
      (!full && !lightening_keeps_rank(A, kLightRows, found.least.rank_margin) &&
       !lightened_rank_is_at_most(c.rank, at, A))) {
    const Certificate like = analyse_lightened(A, 0.5).least.certificate;
    // A loss may give rows almost no weight. If directions are determined by such rows alone, the rank is in
    // doubt.
    if (like.rank == static_cast<int>(n) && at.problem.losses.values().empty()) {
      found.least.step = std::move(found.regular.step);
      c.decrement_sigma = found.regular.decrement;
      c.rank = like.rank;
      c.confounded.clear();
      c.covariance_error = like.covariance_error;
    }
    // The rank is also in doubt if directions are determined by the lightest rows alone, where most rows are
    // heavy.
    out.rank_hidden = c.rank < static_cast<int>(n) &&
                      std::max(like.rank, analyse_lightened(A, kLightRows).least.certificate.rank) > c.rank;
  }
  for (std::size_t j = 0; j < n; ++j) out.step[free[j]] = found.least.step[j];
  for (const int j : c.confounded)
    out.undetermined.push_back(static_cast<int>(free[static_cast<std::size_t>(j)]));
  out.rank = c.rank;
  out.condition = c.condition;
  out.error = c.covariance_error;
  out.decrement = c.decrement_sigma;
  return out;
}

// Takes further steps from the end of the damped step. A direction that damping suppressed contributes the
// decrease that the gradient along it predicts. If the gradient along it is only rounding error, the data do
// not determine the direction.
void refine(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out) {
  RecordReader<double>& J = at.model.records<double>();
  const std::vector<double>& gradient = at.solver.gradient();
  std::vector<double> left(gradient.size()), delta;
  for (int round = 0; round < kRefinements; ++round) {
    at.solver.multiply(J, out.step, left);
    for (std::size_t j = 0; j < left.size(); ++j) left[j] = at.is_fixed(j) ? 0 : left[j] + gradient[j];
    delta.assign(left.begin(), left.end());
    at.solver.solve_factored(J, delta);
    double noise = 0;
    for (std::size_t j = 0; j < delta.size(); ++j) {
      delta[j] = at.is_fixed(j) ? 0 : -delta[j];
      noise += terms.gradient_noise[j] * std::fabs(delta[j]);
    }
    const double slope = -dot(left, delta);
    std::vector<double>& image = left;  // `left` is no longer needed
    at.solver.multiply(J, delta, image);
    const double curvature = dot(delta, image);
    if (!(slope > noise) || !(curvature > 0)) return;
    const double gain = slope * slope / curvature;  // twice the predicted decrease
    const double squares = out.decrement * out.decrement;
    for (std::size_t j = 0; j < delta.size(); ++j) out.step[j] += slope / curvature * delta[j];
    out.decrement = std::sqrt(squares + gain);
    if (!(gain > kEnough * squares)) return;
  }
}

BlockDistance by_elimination(const BlockPoint& at, const BlockStep* solved) {
  BlockDistance out;
  BlockStep step;
  RecordReader<double>& J = at.model.records<double>();
  if (solved) step = *solved;
  for (double lambda = kLeastDamping; lambda <= kMostDamping && !step.factored; lambda *= 10) {
    at.solver.solve<double, double>(J, lambda, {}, step);
    out.linear_iterations += step.iterations;
    out.damping = lambda;
  }
  if (!step.factored) return out;
  out.known = true;
  out.reached = step.reached;
  out.decrement = std::sqrt(std::max(2 * step.predicted, 0.0));
  out.step = std::move(step.step);
  out.condition = kNaN;
  if (at.solver.iterative()) out.decrement = step.decrement;
  return out;
}

// Returns true if finding the null space takes fewer multiply-adds than computing the rank by pivots.
bool null_space_costs_less(const BlockPoint& at) {
  constexpr double kSolves = 40;       // for a gauge of seven directions
  constexpr double kSlowerPivots = 4;  // pivoting goes column by column
  const BlockStructure& s = at.structure;
  const auto reduced = static_cast<double>(s.tangent_size() - s.point_numbers);
  if (at.solver.too_large_for_rank()) return false;  // counting the pivots of its factor takes almost no time
  const double solve = 4 * static_cast<double>(s.record_size) + 2 * reduced * reduced;
  return kSolves * solve < kSlowerPivots * reduced * reduced * reduced / 3;
}

// Estimates the norm of a symmetric matrix over the free columns by power iteration from a random start.
// apply(v) multiplies v by the matrix.
double norm_by_power(const BlockPoint& at, const auto& apply) {
  constexpr int kRounds = 4;  // enough for the right size
  Random random(1);
  std::vector<double> v(at.structure.tangent_size());
  for (std::size_t j = 0; j < v.size(); ++j) {
    const double entry = random.uniform() - 0.5;
    v[j] = at.is_fixed(j) ? 0 : entry;
  }
  double most = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double before = dense::norm(v.data(), v.size());
    for (double& entry : v) entry /= before;
    apply(v);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = at.is_fixed(j) ? 0 : v[j];
    most = std::max(most, dense::norm(v.data(), v.size()));
  }
  return most;
}

// Estimates the norm of (JᵀJ)⁻¹, with columns scaled to unit length. Must be called while the factor is
// known.
double norm_of_inverse(const BlockPoint& at, std::span<const double> norms) {
  return norm_by_power(at, [&](std::vector<double>& v) {
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= norms[j];
    at.solver.solve_factored(at.model.records<double>(), v);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= norms[j];
  });
}

// Estimates the norm of JᵀJ, with columns scaled to unit length.
double norm_of_normal(const BlockPoint& at, std::span<const double> norms) {
  std::vector<double> image(norms.size());
  return norm_by_power(at, [&](std::vector<double>& v) {
    for (std::size_t j = 0; j < v.size(); ++j) v[j] /= norms[j];
    at.solver.multiply(at.model.records<double>(), v, image);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = image[j] / norms[j];
  });
}

// Stores the condition number of JᵀJ, where J has full rank: estimated if J is small, otherwise a bound.
// `inverse` is the norm of the inverse.
void set_condition(const BlockPoint& at, std::span<const double> norms, double inverse, BlockDistance& out) {
  const auto n = static_cast<double>(at.free());
  const bool small = is_small(at, kFewColumns, kFewProducts);
  // JᵀJ with a diagonal of ones has no eigenvalue above n.
  out.condition = (small ? norm_of_normal(at, norms) : n) * inverse;
  out.error = n * kUnitRoundoff * out.condition;
}

// Tries to complete `out` by the directions that the data leave undetermined. Returns true if this succeeded:
// these directions are clearly undetermined, all others are clearly determined, and rounding errors of heavy
// rows cannot hide what the lightest rows determine. Must be called while the factor is known. Takes a small
// part of the time of QR.
bool complete_by_null_space(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out) {
  constexpr double kSafety = 4;
  const std::vector<double> norms = column_norms(at.solver);
  NullSpace null(at.solver, at.model.records<double>(), norms, at.fixed);
  if (!null.find(at.free(), rank_tolerance(at.free()) / (kSafety * terms.widest_spread))) return false;
  null.remove_from(out.step);
  for (std::size_t j = 0; j < out.step.size(); ++j) {
    if (null.share_of(j) > kConfounded) out.undetermined.push_back(static_cast<int>(j));
  }
  out.rank = static_cast<int>(at.free() - null.size());
  if (null.size() > 0) out.condition = kInfinity;
  else if (is_small(at, kFewColumns, kFewProducts)) set_condition(at, norms, norm_of_inverse(at, norms), out);
  return true;
}

// Returns true if some row is so much larger than the median one that JᵀJ loses digits of the others. Rows
// are compared with columns scaled to unit length, since units of the parameters do not matter.
bool has_heavy_rows(const BlockPoint& at, const BlockTerms& terms) {
  constexpr double kMostSpread = 1e3;
  if (terms.spread <= kMostSpread) return false;
  const std::vector<double> norms = column_norms(at.solver);
  std::vector<double> rows;
  rows.reserve(at.structure.residuals);
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    double squares = 0;
    row.for_each([&](std::size_t j, double entry) {
      const double scaled = entry / norms[j];
      squares += scaled * scaled;
    });
    if (squares > 0) rows.push_back(std::sqrt(squares));
  });
  if (rows.empty()) return false;
  const double heaviest = std::ranges::max(rows);
  return !(heaviest <= kMostSpread * quantile_of_nonzero(std::move(rows), 0.5));
}

}  // namespace

std::vector<double> scaled_normal(const BlockPoint& at, std::span<const std::size_t> columns) {
  const std::size_t n = columns.size();
  const std::vector<double> norms = column_norms(at.solver);
  std::vector<double> A(n * n, 0.0), values(at.structure.tangent_size());
  std::vector<std::size_t> places(values.size());  // of the values in a row that are not zero
  const std::vector<std::size_t> all_places = places_of(at, columns);
  for_each_record_row(at.structure, at.model.records<double>(), [&](const JacobianRow& row) {
    std::size_t count = 0;
    row.for_each([&](std::size_t j, double entry) {
      if (entry == 0 || all_places[j] == kNoPlace) return;
      values[count] = entry / norms[j];
      places[count++] = all_places[j];
    });
    for (std::size_t b = 0; b < count; ++b) {
      for (std::size_t a = 0; a < count; ++a) A[places[b] * n + places[a]] += values[a] * values[b];
    }
  });
  return A;
}

std::vector<double> column_norms(const SchurSolver& solver) {
  std::vector<double> norms;
  norms.reserve(solver.squares().size());
  for (const double square : solver.squares()) norms.push_back(square > 0 ? std::sqrt(square) : 1);
  return norms;
}

BlockDistance block_distance(const BlockPoint& at, const BlockTerms& terms, const BlockStep* solved) {
  if (is_small(at, kFewColumns, kFewProducts) && (at.free() == 0 || has_heavy_rows(at, terms)))
    return by_triangle(at, column_norms(at.solver));
  BlockDistance out = by_elimination(at, solved);
  if (!out.known && is_small(at, kDoubtColumns, kDoubtProducts))
    return by_triangle(at, column_norms(at.solver));
  return out;
}

bool examine_weak_directions(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out) {
  // by_elimination() does not find the rank. The results of the other functions are already complete.
  if (!out.known || out.rank >= 0 || at.solver.iterative()) return false;
  const std::vector<double> norms = column_norms(at.solver);
  const std::span<const std::uint8_t> fixed = at.fixed_count > 0 ? at.fixed : std::span<const std::uint8_t>();
  const bool eliminated = out.damping <= kNegligibleDamping;
  const bool small = is_small(at, kFewColumns, kFewProducts);
  const double inverse = eliminated ? at.solver.inverse_norm(norms, fixed, kNegligibleDamping) : kInfinity;
  if (std::isfinite(inverse)) {
    out.rank = static_cast<int>(at.free());
    if (at.structure.real_points == 0) set_condition(at, norms, inverse, out);
    else if (small) set_condition(at, norms, norm_of_inverse(at, norms), out);
    return true;
  }
  refine(at, terms, out);
  const bool by_rows_next = is_small(at, kDoubtColumns, kDoubtProducts);
  const bool blurred = at.solver.points_blur_rank(norms, kNegligibleDamping);
  if ((by_rows_next || blurred || null_space_costs_less(at)) && complete_by_null_space(at, terms, out))
    return true;
  const bool rows_decide = small || (by_rows_next && blurred);
  const RankEstimate rank =
      rows_decide ? RankEstimate{} : at.solver.rank(at.model.records<double>(), norms, eliminated);
  if (rank.rank < static_cast<int>(at.free())) {
    if (by_rows_next) {
      BlockDistance found = by_triangle(at, norms);
      found.linear_iterations = out.linear_iterations;
      if (found.known) out = std::move(found);
      return true;
    }
    out.rank_hidden = terms.widest_spread > kHeavyRows;
  } else if (blurred) {
    return true;  // pivots can be too large here, so the rank is not known
  }
  out.rank = rank.rank;  // fixed columns are zero and do not count
  out.rank_estimated = rank.estimated;
  return true;
}

bool rows_are_few(const BlockPoint& at) { return is_small(at, kDoubtColumns, kStepProducts); }
bool qr_takes_least(const BlockPoint& at) { return qr_products(at) <= kLeastProducts; }

void solve_by_rows(const BlockPoint& at, double lambda, std::span<const double> scale, BlockStep& out) {
  const std::vector<std::size_t> free = at.free_columns();
  const std::size_t n = free.size();
  const DenseRows J = dense_rows(at, free);
  DenseRows stacked{J.rows + n, n, std::vector<double>((J.rows + n) * n, 0.0), J.r};
  stacked.r.resize(stacked.rows, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    double* column = &stacked.J[j * stacked.rows];
    const double by = scale[free[j]];
    for (std::size_t i = 0; i < J.rows; ++i) column[i] = J.J[j * J.rows + i] / by;
    column[J.rows + j] = std::sqrt(lambda);
  }
  out = {};
  out.step.assign(at.structure.tangent_size(), 0.0);
  if (n == 0 || !J.finite) return;
  const RegularSolution scaled = solve_regular(std::move(stacked));
  for (std::size_t j = 0; j < n; ++j) out.step[free[j]] = scaled.step[j] / scale[free[j]];
  out.decrement = scaled.decrement;
  out.scaled_norm = dense::norm(scaled.step.data(), n);
  out.predicted = 0.5 * (out.decrement * out.decrement + lambda * out.scaled_norm * out.scaled_norm);
  out.factored = std::isfinite(out.predicted) && std::isfinite(out.scaled_norm);
}

}  // namespace nlsq::inline v0

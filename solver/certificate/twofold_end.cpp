// Implements judge_by_twofold().
#include "certificate/ends_of_fits.hpp"

#include "certificate/certificate.hpp"
#include "certificate/certificate_face.hpp"
#include "certificate/hidden_minimum.hpp"
#include "dense/dense_algebra.hpp"
#include "dense/row_groups.hpp"
#include "linear/determined_subspace.hpp"
#include "support/constants.hpp"

#include "rows/twofold_rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostNumbers = std::size_t(1) << 20;  // of J, which is stored here
constexpr std::size_t kMostTogether = 16;                   // parameters that are rounded together

double norm_of(const std::vector<double>& v) { return dense::norm(v.data(), v.size()); }

// J at the end, with its free columns scaled to length 1.
struct Rows {
  std::vector<std::size_t> free;  // the parameters that no bound holds
  std::vector<double> J, norms;   // by columns

  std::size_t rows() const { return J.size() / std::max<std::size_t>(1, free.size()); }
};

std::optional<Rows> rows_at(const RowModel& model, std::span<const double> x,
                            const std::vector<int>& at_bound) {
  Rows out;
  out.free = face_without(x.size(), at_bound).kept;
  const std::size_t m = model.rows(), n = out.free.size();
  if (n == 0 || m < n || m > kMostNumbers / n) return std::nullopt;
  out.J.resize(m * n);
  out.norms.assign(n, 0.0);
  for_each_tile(model, x, [&](const TileRange& tile, const double* const* columns) {
    for (std::size_t j = 0; j < n; ++j)
      std::copy_n(columns[out.free[j]], tile.count, &out.J[j * m + tile.first]);
  });
  for (std::size_t j = 0; j < n; ++j) {
    out.norms[j] = dense::norm(&out.J[j * m], m);
    if (!(out.norms[j] > 0) || !std::isfinite(out.norms[j])) return std::nullopt;
    for (std::size_t i = 0; i < m; ++i) out.J[j * m + i] /= out.norms[j];
  }
  return out;
}

// Holds what the linear model predicts: the step to its minimum, in scaled parameters, the distance to it,
// and the residuals that remain there.
struct Model {
  std::vector<double> R, z, step;  // R: n x n by columns
  double nu = 0, least = 0;        // ‖z‖, and the norm of the residuals at the minimum
};

Model model_of(const Rows& rows, const std::vector<double>& residuals) {
  const std::size_t m = rows.rows(), n = rows.free.size();
  std::vector<double> QR = rows.J, b = residuals;
  dense::householder_qr(QR.data(), m, n, b.data());
  Model out;
  out.R.assign(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) std::copy_n(&QR[j * m], j + 1, &out.R[j * n]);
  out.z.assign(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
  out.nu = norm_of(out.z);
  out.least = dense::norm(b.data() + n, m - n);
  out.step = out.z;
  for (double& s : out.step) s = -s;
  dense::solve_upper(out.R.data(), n, out.step.data());
  return out;
}

// Returns x moved by the step of the model, to f64 numbers that lie close to the model's minimum.
Vector moved(const Rows& rows, const Model& model, const Vector& x) {
  const std::size_t n = rows.free.size();
  Vector out = x;
  if (n > kMostTogether) {
    for (std::size_t j = 0; j < n; ++j) out[rows.free[j]] += model.step[j] / rows.norms[j];
    return out;
  }
  std::vector<double> digit(n), B = model.R;
  for (std::size_t j = 0; j < n; ++j) {
    const double size = std::max(std::fabs(x[rows.free[j]]), std::fabs(model.step[j]) / rows.norms[j]);
    digit[j] = std::nextafter(size, kInfinity) - size;
    for (std::size_t i = 0; i < n; ++i) B[j * n + i] *= digit[j] * rows.norms[j];
  }
  const std::vector<double> times = nearest_on_grid(std::move(B), n, model.z);
  for (std::size_t j = 0; j < n; ++j) out[rows.free[j]] += times[j] * digit[j];
  return out;
}

// Holds a point, and the quantities that are known there.
struct Judged {
  Vector x;
  Rows rows;
  std::vector<double> residuals;
  Model model;
  double rounding = 0;  // norm of the rounding errors of the residuals
};

class Judge {
 public:
  Judge(const SolveRequest& request, TwofoldRows& twofold, const std::vector<int>& at_bound)
      : request_(request), twofold_(twofold), at_bound_(at_bound) {}

  std::optional<Judged> at(const Vector& x) const {
    std::optional<Rows> rows = rows_at(request_.rows, x, at_bound_);
    if (!rows) return std::nullopt;
    const std::size_t m = rows->rows();
    std::vector<double> residuals(m), errors(m);
    twofold_.residuals(x, 0, m, residuals.data(), errors.data());
    Model model = model_of(*rows, residuals);
    if (!std::isfinite(model.nu + model.least + norm_of(errors))) return std::nullopt;
    return Judged{x, std::move(*rows), std::move(residuals), std::move(model), norm_of(errors)};
  }

  // Moves to the optimum as long as this helps. Parameters that are only judged stay where they are.
  std::optional<Judged> best_from(const Vector& x, bool may_move) const {
    constexpr double kShort = 1e-3, kHelps = 0.7;  // length of the step beside the parameters; share that it
                                                   // leaves
    const int steps = may_move && request_.options.max_iterations > 0 ? 6 : 0;
    std::optional<Judged> best = at(x);
    for (int k = 0; k < steps && best; ++k) {
      if (!(norm_of(best->model.step) <= kShort * scaled_size(*best))) break;
      const Vector next = moved(best->rows, best->model, best->x);
      if (next == best->x || !request_.limits.allow(next)) break;
      std::optional<Judged> there = at(next);
      if (!there || !(there->model.nu < best->model.nu)) break;
      const bool helps = there->model.nu < kHelps * best->model.nu;
      best = std::move(there);
      if (!helps) break;
    }
    return best;
  }

  double sigma(const Judged& point) const {
    if (request_.unit_sigma) return 1;
    return point.model.least / std::sqrt(static_cast<double>(point.rows.rows() - point.rows.free.size()));
  }
  // Returns how wrong the measured distance itself may be: by the rounding of the residuals, and because J in
  // f64 spans a slightly different space.
  double error(const Judged& point, double condition) const {
    return point.rounding + 10 * kUnitRoundoff * std::sqrt(condition) * point.model.least;
  }
  // Checks every bound that x lies on. Without the bound, x must move beyond it, or by less than a tenth of a
  // standard error. Returns false if some bound fails. This is evaluated with twice the digits, because in
  // float64 the cost may seem to fall to the wrong side where terms cancel.
  bool bounds_hold(const Judged& point) const {
    for (const int bounded : at_bound_) {
      const auto j = static_cast<std::size_t>(bounded);
      std::vector<int> others = at_bound_;
      std::erase(others, bounded);
      const std::optional<Judged> freed = Judge(request_, twofold_, others).at(point.x);
      if (!freed) return false;
      const Rows& rows = freed->rows;
      const auto column = static_cast<std::size_t>(std::ranges::find(rows.free, j) - rows.free.begin());
      const double move = freed->model.step[column] / rows.norms[column];
      const bool inward = request_.limits.allow(j, point.x[j] + move);
      std::vector<double> R = freed->model.R, z = freed->model.z;
      const double doubt = error(*freed, normal_condition({R.data(), z.data(), rows.norms}));
      const double nu = freed->model.nu;
      const double gain = std::sqrt(std::max(0.0, nu * nu - point.model.nu * point.model.nu));
      if (!((inward ? nu + doubt : doubt - gain) <= kNearInNoise * sigma(point))) return false;
    }
    return true;
  }
  // Returns true if the residuals that are left at the optimum within the bounds are the last digits of y.
  // `whole` says that J has full rank. If it does not, the optimum is not unique, and the bounds are not
  // considered.
  bool data_are_exact(const Judged& point, bool whole) const {
    constexpr double kDigits = 16;
    std::vector<double> digits(point.rows.rows());
    twofold_.last_digits(point.x, 0, digits.size(), digits.data());
    NormOfMost of_most;
    for (const double digit : digits) of_most.add(digit);
    const double beyond = whole ? rise_within_limits(point) : 0;
    return std::hypot(point.model.least, beyond) <= kDigits * of_most.without_a_tenth();
  }
  double gradient_bound(const Judged& point) const {
    return 32 * kUnitRoundoff + point.rounding / norm_of(point.residuals);
  }

  static std::vector<double> unexplained(const Judged& point) {
    const std::size_t m = point.rows.rows();
    std::vector<double> out = point.residuals;
    for (std::size_t j = 0; j < point.rows.free.size(); ++j)
      for (std::size_t i = 0; i < m; ++i) out[i] += point.rows.J[j * m + i] * point.model.step[j];
    return out;
  }
  static double scaled_size(const Judged& point) {
    double squares = 0;
    for (std::size_t j = 0; j < point.rows.free.size(); ++j)
      squares += std::pow(point.rows.norms[j] * point.x[point.rows.free[j]], 2);
    return std::sqrt(squares);
  }
  static double cost(const Judged& point) {
    return 0.5 * dense::dot(point.residuals.data(), point.residuals.data(), point.residuals.size());
  }
  static double gradient_cosine(const Judged& point) {
    const std::size_t m = point.rows.rows();
    double largest = 0;
    for (std::size_t j = 0; j < point.rows.free.size(); ++j)
      largest = std::max(largest, std::fabs(dense::dot(&point.rows.J[j * m], point.residuals.data(), m)));
    return largest / norm_of(point.residuals);
  }

 private:
  // Returns a lower bound of the rise of the norm of the residuals if the step to the optimum leads beyond a
  // bound, and that parameter stays within it. All other parameters take their best values.
  double rise_within_limits(const Judged& point) const {
    double rise = 0;
    const std::size_t n = point.rows.free.size();
    for (std::size_t k = 0; k < n && !request_.limits.empty(); ++k) {
      const std::size_t j = point.rows.free[k];
      const double there = point.x[j] + point.model.step[k] / point.rows.norms[k];
      const double allowed = request_.limits.nearest(j, there);
      if (there == allowed) continue;
      std::vector<double> direction(n, 0.0);
      direction[k] = 1;
      dense::solve_upper_transposed(point.model.R.data(), n, n, direction.data());
      rise = std::max(rise, std::fabs(there - allowed) * point.rows.norms[k] / norm_of(direction));
    }
    return rise;
  }

  const SolveRequest& request_;
  TwofoldRows& twofold_;
  const std::vector<int>& at_bound_;
};

// If the bound of the gradient, as a cosine, is larger than this, a distance measured in f64 may be wrong by
// a tenth of a standard error.
constexpr double kMayBlur = 0.02;

bool rounding_decides(const MinimizerResult& end) {
  const Certificate& c = end.summary.certificate;
  if (is_success(end.summary.verdict)) return rests_on_rounding(c) || c.gradient_bound >= kMayBlur;
  if (end.summary.verdict != Verdict::budget || end.spent || end.underflow || end.on_saddle) return false;
  const bool rounded = end.summary.termination == Termination::no_progress && !end.lost_parameters &&
                       c.gradient_bound >= kMostlyRounding;
  return end.limited_by_rounding || rounded;
}

// Returns true for a success whose residuals are a millionth of their terms, or less. All of these residuals
// may then be rounding errors of numbers inside the function.
bool residuals_are_small(const MinimizerResult& end) {
  return is_success(end.summary.verdict) &&
         2 * end.summary.final_cost <= kSmallResiduals * end.cost_noise / (4 * kUnitRoundoff);
}

// Judges an end by residuals of twice the digits. `whole` says that J has full rank. `inside` says that
// rounding errors of numbers inside the function may have moved x away from the optimum of exact data.
void judge_with(const Judge& judge, bool whole, bool inside, MinimizerResult& end) {
  Certificate& c = end.summary.certificate;
  std::optional<Judged> found = judge.best_from(end.x, whole);
  if (!found) return;
  Judged& best = *found;
  const double sigma = judge.sigma(best);
  const double distance = std::hypot(best.model.nu, judge.error(best, c.condition));
  if (whole && distance <= kNearInNoise * sigma && judge.bounds_hold(best)) {
    end.by_twofold = EndByTwofold::near;
    c.decrement_sigma = distance / sigma;
    c.gradient_norm = judge.gradient_cosine(best);
    c.gradient_bound = judge.gradient_bound(best);
    c.step = norm_of(best.model.step) / judge.scaled_size(best);
    c.cost = end.summary.final_cost = judge.cost(best);
    if (!is_success(c.verdict)) c.verdict = Verdict::noise_floor;
    c.governed_by = kByTwofold;
    c.passed = c.recheck_passed;
    end.summary.termination = Termination::converged;
    end.limited_by_rounding = false;
    end.x = std::move(best.x);
  } else if (judge.data_are_exact(best, whole)) {
    end.by_twofold = EndByTwofold::exact_data;
    end.unexplained = judge.unexplained(best);
    if (inside) end.x = std::move(best.x);
  } else if (is_success(c.verdict)) {
    c.cost = end.summary.final_cost = judge.cost(best);
    end.x = std::move(best.x);
    c.decrement_sigma = distance / sigma;
    end.by_twofold = EndByTwofold::far;
  }
}

}  // namespace

void judge_by_twofold(const SolveRequest& request, MinimizerResult& end) {
  end.by_twofold = EndByTwofold::unknown;
  end.unexplained.clear();
  const Certificate& c = end.summary.certificate;
  const bool small = residuals_are_small(end), decides = rounding_decides(end);
  if (!(small || decides) || request.rows.robust_loss() != nullptr || c.last_step > 0) return;
  const std::size_t rows = request.rows.rows(), n = end.x.size();
  const bool judged = n > 0 && rows > n - c.at_bound.size() && rows <= kMostNumbers / n;
  const std::unique_ptr<TwofoldRows> twofold = judged ? request.rows.twofold() : nullptr;
  const double most = twofold != nullptr ? 2 * kRoundingErrors : kVanishing;
  const bool inside = small && rounds_inside(request.rows, end.x, request.x0, request.limits, most);
  // Where J loses rank there is no distance, but exact data can still be recognised.
  const bool whole = c.rank + static_cast<int>(c.at_bound.size()) == static_cast<int>(end.x.size());
  if (!inside && !(decides && (whole || rests_on_rounding(c)))) return;
  // If a success has residuals that are the last digits of y already in f64, no other evaluation is needed,
  // except where some rows weigh so much that they may hide the others.
  const auto stands = [&] {
    return !inside && is_success(end.summary.verdict) && !twofold->weighted() &&
           follows_to_last_digits(request.rows, end.x, c.rank);
  };
  if (twofold != nullptr && !stands()) judge_with(Judge(request, *twofold, c.at_bound), whole, inside, end);
  if (inside && end.by_twofold == EndByTwofold::unknown) end.by_twofold = EndByTwofold::far;
  end.summary.verdict = c.verdict;
}

}  // namespace nlsq::inline v0

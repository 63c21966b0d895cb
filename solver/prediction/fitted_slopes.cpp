// Chooses the steps of differences from the standard errors of a fit.
#include "prediction/fitted_slopes.hpp"

#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "linear/small_dense.hpp"
#include "prediction/right_side.hpp"
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// The length of a step, in units of the change that moves the curve by one standard error. A band describes
// the curve over one such unit, and the curve is nearly straight over a small part of it. Shorter steps would
// make rounding errors of the values larger beside the band.
constexpr double kStep = 1.0 / 512;
constexpr double kLonger = 8;  // the longer steps, in units of these

// Returns for each parameter the change that moves the curve by one standard error if no other parameter
// changes: 1 / sqrt((C⁻¹)_jj), where C is the covariance. Returns 0 for parameters that were not fitted, and
// for all parameters if C has no inverse in double.
std::vector<double> moves_alone(const FitResult& fit) {
  std::vector<double> moves(fit.parameters.size(), 0.0);
  std::vector<std::size_t> known;
  for (std::size_t j = 0; j < moves.size(); ++j) {
    const double error = fit.standard_errors[j];
    if (error > 0 && std::isfinite(error) && !is_tied(fit, j)) known.push_back(j);
  }
  const std::size_t n = known.size();
  std::vector<double> L(n * n), W(n * n), inverse(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a; b < n; ++b) L[a * n + b] = a == b ? 1 : fit.correlation(known[a], known[b]);
  }
  if (!small_dense::cholesky(L.data(), n, inverse.data())) return moves;
  small_dense::invert_lower(L.data(), n, inverse.data(), W.data());
  for (std::size_t a = 0; a < n; ++a) {
    double sum = 0;
    for (std::size_t b = a; b < n; ++b) sum += W[a * n + b] * W[a * n + b];
    const double move = fit.standard_errors[known[a]] / std::sqrt(sum);
    if (std::isfinite(move)) moves[known[a]] = move;
  }
  return moves;
}

// Returns sizes for which DifferenceStep takes `longer` times steps of kStep moves, or of its usual length if
// that is longer.
DifferenceSizes sizes_by_fit(const FitResult& fit, const FitOptions& options, double longer) {
  const double share = kStep / std::cbrt(std::numeric_limits<double>::epsilon());
  DifferenceSizes out{typical_sizes(fit.parameters), limits_of(options.bounds, fit.parameter_names)};
  const std::vector<double> moves = moves_alone(fit);
  for (std::size_t j = 0; j < moves.size(); ++j) {
    if (moves[j] > 0) out.sizes[j] = longer * std::max(std::fabs(fit.parameters[j]), share * moves[j]);
    if (out.limits.empty()) continue;
    out.limits.lower[j] = std::min(out.limits.lower[j], fit.parameters[j]);
    out.limits.upper[j] = std::max(out.limits.upper[j], fit.parameters[j]);
  }
  return out;
}

}  // namespace

FittedSlopes fitted_slopes(const PreparedModel& model, const Columns& x, const FitResult& fit,
                           const FitOptions& options, bool compare, const Parallelism& parallelism) {
  EvaluateOptions wanted;
  static_cast<Parallelism&>(wanted) = parallelism;
  wanted.jacobian = true;
  const auto evaluated = [&](const DifferenceSizes& sizes) {
    return evaluate_prepared(model.impl(), x, fit.parameters, PrecisionPolicy::all_f64(), wanted, sizes);
  };
  const auto& function = model.impl().function;
  if (model.impl().has_programs() || function->dual) return {evaluated({}), {}};
  const auto with_steps = [&](double longer) {
    const DifferenceSizes sizes = sizes_by_fit(fit, options, longer);
    try {
      return evaluated(sizes);
    } catch (const ValidationError&) {
      throw;
    } catch (const DataError&) {
      throw;
    } catch (...) {
      // The function may not be defined as far from the minimum as these steps reach.
      DifferenceSizes usual;
      usual.limits = sizes.limits;
      return evaluated(usual);
    }
  };
  FittedSlopes out{with_steps(1), {}};
  if (!compare) return out;
  out.change = with_steps(kLonger).jacobian;
  for (std::size_t i = 0; i < out.change.rows(); ++i) {
    for (std::size_t j = 0; j < out.change.columns(); ++j) out.change(i, j) -= out.at.jacobian(i, j);
  }
  return out;
}

}  // namespace nlsq::inline v0

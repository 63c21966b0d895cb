// Implements nlsq_least_squares: residuals by a callback.
#include "c/caller_options.hpp"
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/fit.h>
#include <nlsq/least_squares.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace nlsq::inline v0::c {

namespace {

// This is the problem in scaled parameters z = x / scale. Differences are taken in z, where steps are never
// far below 1.
struct ScaledResiduals {
  nlsq_function function;
  void* user;
  std::size_t residuals;
  std::vector<double> scale;  // empty if all are 1
  Bounds bounds;              // of x: none, one number for all, or one for each

  // Returns x = z * scale within the bounds. The product is rounded, so it may exceed a bound on which z lies
  // by one unit in the last place.
  double unscaled(double z, std::size_t j) const {
    if (scale.empty()) return z;
    const auto side = [j](const std::vector<double>& all) { return all[all.size() == 1 ? 0 : j]; };
    double x = z * scale[j];
    if (!bounds.lower.empty()) x = std::max(x, side(bounds.lower));
    if (!bounds.upper.empty()) x = std::min(x, side(bounds.upper));
    return x;
  }
  std::vector<double> unscaled(std::span<const double> z) const {
    std::vector<double> x(z.begin(), z.end());
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = unscaled(x[j], j);
    return x;
  }
  void call(std::span<const double> z, double* r, double* J) const {
    const std::vector<double> x = unscaled(z);
    const int code = function(x.data(), r, J, user);
    if (code != 0)
      throw CallbackStopped(fmt::format("the callback of the residuals returned {}", code), code);
  }
  std::vector<double> values(std::span<const double> z) const {
    std::vector<double> r(residuals, std::numeric_limits<double>::quiet_NaN());
    call(z, r.data(), nullptr);
    return r;
  }
  void jacobian(std::span<const double> z, std::span<double> J) const {
    std::vector<double> r(residuals);
    call(z, r.data(), J.data());
    for (std::size_t i = 0; i < J.size() && !scale.empty(); ++i) J[i] *= scale[i % scale.size()];
  }
};

void divide(std::vector<double>& values, const std::vector<double>& scale) {
  if (scale.empty() || values.empty()) return;
  values.resize(scale.size(), values[0]);  // one bound for all
  for (std::size_t j = 0; j < scale.size(); ++j) values[j] /= scale[j];
}

void unscale(LeastSquaresResult& out, const ScaledResiduals& scaled) {
  const std::vector<double>& scale = scaled.scale;
  const std::size_t n = scale.size();
  for (std::size_t i = 0; i < n; ++i) {
    out.x[i] = scaled.unscaled(out.x[i], i);
    out.standard_errors[i] *= scale[i];
    for (std::size_t j = 0; j < n; ++j) out.covariance(i, j) *= scale[i] * scale[j];
  }
  for (FitMinimum& minimum : out.minima) {
    for (std::size_t j = 0; j < n; ++j) minimum.parameters[j] = scaled.unscaled(minimum.parameters[j], j);
  }
}

nlsq_result* solve(nlsq_function function, void* user, bool has_jacobian, std::size_t residuals,
                   std::vector<double> x0, const Options& options) {
  const FpEnvironment environment;
  LeastSquaresOptions wanted = options.least_squares_options();
  const auto check_side = [&](const std::vector<double>& side, const char* name) {
    if (side.size() > 1 && side.size() != x0.size())
      throw ValidationError(fmt::format("{} has {} numbers: give one, or {}", name, side.size(), x0.size()));
  };
  check_side(wanted.bounds.lower, "lower");
  check_side(wanted.bounds.upper, "upper");
  const ScaledResiduals scaled{function, user, residuals, options.scale_of(x0.size()), wanted.bounds};
  divide(wanted.bounds.lower, scaled.scale);
  divide(wanted.bounds.upper, scaled.scale);
  divide(x0, scaled.scale);
  VectorFunction called;
  called.concurrent = false;
  called.value = [&](std::span<const double> z) { return scaled.values(z); };
  if (has_jacobian)
    wanted.jacobian = [&](std::span<const double> z, std::span<double> J) { scaled.jacobian(z, J); };
  auto result = std::make_shared<SolveResult>();
  result->solved = least_squares(called, x0, wanted);
  result->rows = residuals;
  const std::vector<double> z = result->solved.x;
  unscale(result->solved, scaled);
  if (has_jacobian) {
    result->jacobian = Matrix(residuals, x0.size());
    std::vector<double> r(residuals);
    scaled.call(z, r.data(), result->jacobian.data());
  }
  return to_handle<nlsq_result>(std::move(result));
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" int nlsq_least_squares(nlsq_function function, void* user, int has_jacobian, size_t residuals,
                                  const double* x0, size_t n, const nlsq_options* options,
                                  nlsq_result** result) {
  return output(result, "result", [&] {
    required(function, "function");
    required(x0, "x0");
    if (residuals == 0) throw ArgumentError("residuals is 0: use 1 or more");
    return solve(function, user, has_jacobian != 0, residuals, std::vector<double>(x0, x0 + n),
                 *options_of(options));
  });
}

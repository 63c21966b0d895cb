// check_derivatives: tests derivatives that users write. Each is compared with an extrapolated difference
// (extrapolated_slopes.cpp) whose own error is known. A derivative counts as wrong only if it differs by more
// than that error.
//
//   const auto check = nlsq::check_derivatives(residuals, jacobian, p);
//   if (!check.passed()) std::cerr << check.report();
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/manifold.hpp>
#include <nlsq/problem.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Describes one wrong derivative of a residual by a parameter. In a Problem both indices count within their
// blocks. In a block with a manifold, `parameter` is a direction of the tangent space.
struct DerivativeError {
  std::size_t residual = 0, parameter = 0;
  double given = 0;                 // the user's value; not finite if it was left out
  double difference = 0;            // the value by differences
  double uncertainty = 0;           // error of `difference`
  std::size_t residual_block = 0;   // ResidualBlockId::index
  std::size_t parameter_block = 0;  // its position among the residual block's parameter blocks
  double relative() const;          // |given - difference| / the larger of both; ∞ if `given` is not finite
};

// The result of a check.
struct DerivativeCheck {
  std::vector<DerivativeError> wrong;  // sorted by decreasing relative error
  std::size_t checked = 0;             // derivatives compared
  // of these, derivatives without a verdict: kinks, edges of the domain, noisy residuals
  std::size_t unclear = 0;
  std::size_t without = 0;  // residual blocks without derivatives of their own
  bool of_problem = false;
  bool passed() const { return wrong.empty(); }
  // Returns a text for people: how many are wrong, and the worst `most` of them by name.
  std::string report(std::size_t most = 10) const;
};

// The functions below call a derivative wrong if it differs from the difference by more than `tolerance`
// times the larger of both plus eight times the difference's error. All overloads throw ValidationError if
// sizes do not match, x is not finite or `tolerance` is not positive. Exceptions of the callables pass
// through.

// Takes the functions as nlsq::least_squares does: `jacobian` fills J, row-major, residuals x parameters.
NLSQ_API DerivativeCheck
check_derivatives(const VectorFunction& residuals,
                  const std::function<void(std::span<const double> p, std::span<double> J)>& jacobian,
                  std::span<const double> x, double tolerance = 1e-6);

template <class F>
requires(!std::convertible_to<F, const VectorFunction&>) DerivativeCheck
    check_derivatives(F residuals,
                      const std::function<void(std::span<const double> p, std::span<double> J)>& jacobian,
                      const std::vector<double>& x, double tolerance = 1e-6) {
  return check_derivatives(make_vector_function(std::move(residuals)), jacobian, x, tolerance);
}

// Checks every residual block at the present values: derivatives written by hand, and those of functors
// generic in their scalar (where a branch on a plain number, or a conversion to double and back, hides a
// dependence). A block with a manifold moves by Manifold::plus, so its plus_jacobian is checked as well.
// Constant blocks are left out, and bounds are respected.
NLSQ_API DerivativeCheck check_derivatives(const Problem& problem, double tolerance = 1e-6);

// Checks plus_jacobian of a manifold at x, which has `ambient` numbers. `residual` is the index of an ambient
// number, `parameter` that of a tangent number.
NLSQ_API DerivativeCheck check_derivatives(const Manifold& manifold, std::span<const double> x,
                                           double tolerance = 1e-6);

}  // namespace nlsq::inline v0

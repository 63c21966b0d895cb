// Are the derivatives right? Those that users write are held, one by one, against extrapolated differences
// (extrapolated_slopes.hpp), whose own error is known: what is called wrong is wrong by more than that.
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

// One derivative that is wrong: of a residual by a parameter. In a Problem both are counted within their
// blocks, and where a block has a manifold, parameters are the directions of its tangent space.
struct DerivativeError {
  std::size_t residual = 0, parameter = 0;
  double given = 0;                 // not finite: it was left out
  double difference = 0;            // what differences say
  double uncertainty = 0;           // of what they say
  std::size_t residual_block = 0;   // ResidualBlockId::index
  std::size_t parameter_block = 0;  // which of the residual block's
  double relative() const;  // |given - difference| / the larger of both; ∞ where `given` is not finite
};

struct DerivativeCheck {
  std::vector<DerivativeError> wrong;  // the largest relative error first
  std::size_t checked = 0;             // derivatives compared
  std::size_t unclear = 0;  // of them: no verdict; kinks, edges of the domain, residuals with too much noise
  std::size_t without = 0;  // residual blocks that have no derivatives of their own to be checked
  bool of_problem = false;
  bool passed() const { return wrong.empty(); }
  // Lines for people: how many, and the worst of them by name.
  std::string report(std::size_t most = 10) const;
};

// A derivative is wrong where it lies further from the difference than `tolerance` times the larger of both,
// and eight times what the difference is uncertain by. All throw ValidationError where sizes do not fit or x
// is not finite, and pass on what the callables throw.

// As nlsq::least_squares takes them: `jacobian` fills J, row-major, residuals x parameters.
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

// Every residual block at the present values: derivatives by hand, and those of functors generic in their
// scalar (a branch on a plain number, a value taken out and put back, hide a dependence). Through
// Manifold::plus where a block has one, so that its plus_jacobian is checked with it. Constant blocks are
// left out; bounds are kept.
NLSQ_API DerivativeCheck check_derivatives(const Problem& problem, double tolerance = 1e-6);

// plus_jacobian of a manifold at x, `ambient` numbers: `residual` counts the ambient numbers, `parameter` the
// tangent's.
NLSQ_API DerivativeCheck check_derivatives(const Manifold& manifold, std::span<const double> x,
                                           double tolerance = 1e-6);

}  // namespace nlsq::inline v0

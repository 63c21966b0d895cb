// Bounds the rounding error of an expression evaluated in double: a running error bound, to first order
// (Wilkinson; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3). The comparison
// of programs with user functions uses it.
//
// Two programs for one function differ by their rounding errors. If large terms cancel, or a divisor is
// small, the difference is far larger than the unit roundoff times the result.
#pragma once

#include <nlsq/graph.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct RoundedNumber {
  double value = 0;
  double bound = 0;  // bounds |value - exact value|; not finite if no bound is known
};

// Applies an operation to operands with bounds; the operation itself rounds too.
RoundedNumber rounded(Op op, const RoundedNumber& a, const RoundedNumber& b = {},
                      const RoundedNumber& c = {});

// Evaluates every node of the graph in one traversal. Columns are exact.
std::vector<RoundedNumber> evaluate_rounded(const Graph& graph, std::span<const double> columns);

}  // namespace nlsq::inline v0

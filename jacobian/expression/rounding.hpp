// How far rounding may carry what an expression gives in double from what it stands for: a running error
// bound, to first order (Wilkinson; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
// 3.3).
//
// Two programs of one function differ by their rounding. How much that may be is a matter of the function:
// where large terms cancel, or a small number is divided by, it is far more than the unit roundoff times the
// result.
#pragma once

#include <nlsq/graph.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct RoundedNumber {
  double value = 0;
  double bound = 0;  // of |value - the exact one|; not finite where nothing can be said
};

// The operation on such operands, rounded itself.
RoundedNumber rounded(Op op, const RoundedNumber& a, const RoundedNumber& b = {},
                      const RoundedNumber& c = {});

// Every node of the graph in one walk; columns are exact.
std::vector<RoundedNumber> evaluate_rounded(const Graph& graph, std::span<const double> columns);

}  // namespace nlsq::inline v0

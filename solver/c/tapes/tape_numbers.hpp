// One operation of a graph on doubles, recorded numbers and dual numbers.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/op.hpp>
#include <nlsq/traced.hpp>
#include <nlsq/where.hpp>

namespace nlsq::inline v0::c {

inline double apply(Op op, double a, double b, double c) { return evaluate_op(op, a, b, c); }
inline Traced apply(Op op, const Traced& a, const Traced& b, const Traced& c) {
  return record_op(op, a, b, c);
}

// Comparisons, logic and steps have derivative 0, as in a graph.
Dual8 apply(Op op, const Dual8& a, const Dual8& b, const Dual8& c);

}  // namespace nlsq::inline v0::c

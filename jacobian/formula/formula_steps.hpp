// The number of operands of a formula's step, and the values of compound steps.
#pragma once

#include <nlsq/formula.hpp>

#include <cmath>
#include <numbers>

namespace nlsq::inline v0 {

inline int operands_of(const FormulaStep& step) {
  switch (step.compound) {
    case CompoundFunction::greater:
    case CompoundFunction::greater_equal:
    case CompoundFunction::mod: return 2;
    case CompoundFunction::voigt: return 3;
    default: return arity(step.op);
  }
}

inline double evaluate_compound(CompoundFunction compound, double a, double b, double c) {
  switch (compound) {
    case CompoundFunction::greater: return evaluate_op(Op::less, b, a);
    case CompoundFunction::greater_equal: return evaluate_op(Op::less_equal, b, a);
    case CompoundFunction::mod: return a - b * std::floor(a / b);
    default: {
      const double scale = b * std::numbers::sqrt2;
      return evaluate_op(Op::wofz_re, a / scale, c / scale) / (b * std::sqrt(2 * std::numbers::pi));
    }
  }
}

}  // namespace nlsq::inline v0

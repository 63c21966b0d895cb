// Declares the operands and values of a formula's steps, for one row and for a block of rows. A formula and a
// tape run each of their steps over a block, so that a step is decoded once per block and not once per row.
#pragma once

#include <nlsq/formula.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace nlsq::inline v0 {

// Throw ValidationError if there are fewer predictors, or parameters, than the formula has.
void check_counts(const Formula& formula, std::size_t predictors, std::size_t parameters);
void check_counts(const Formula& formula, std::size_t predictors);

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

constexpr std::size_t kBlockRows = 64;

// Holds a value for each row of a block, or one value for all rows.
struct BlockValue {
  double* own;  // memory for kBlockRows values
  // Points to `own` or to values of another owner. It is null if there is one number for all rows.
  const double* rows = nullptr;
  double value = 0;
  bool uniform() const { return rows == nullptr; }
  double operator[](std::size_t i) const { return uniform() ? value : rows[i]; }
};

// Applies one operation to the first `count` rows. The result replaces `a`, in the memory of `a`.
void apply_to_block(const FormulaStep& step, BlockValue& a, const BlockValue& b, const BlockValue& c,
                    int operands, std::size_t count);

}  // namespace nlsq::inline v0

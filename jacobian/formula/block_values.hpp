// Values of a block of rows, and the operations on them. A formula and a tape run each of their steps over a
// block, so that a step is decoded once per block and not once per row.
#pragma once

#include "formula/formula_steps.hpp"

#include <cstddef>

namespace nlsq::inline v0 {

constexpr std::size_t kBlockRows = 64;

// A value for each row of a block, or one value for all rows.
struct BlockValue {
  double* own;  // memory for kBlockRows values
  // Points to `own` or to values of another owner. Null: one number for all rows.
  const double* rows = nullptr;
  double value = 0;
  bool uniform() const { return rows == nullptr; }
  double operator[](std::size_t i) const { return uniform() ? value : rows[i]; }
};

// Applies one operation to the first `count` rows. The result replaces `a`, in the memory of `a`.
void apply_to_block(const FormulaStep& step, BlockValue& a, const BlockValue& b, const BlockValue& c,
                    int operands, std::size_t count);

}  // namespace nlsq::inline v0

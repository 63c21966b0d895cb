// Implements the evaluation of formulas over blocks of rows.
#include "table/block_evaluator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace nlsq::cli {

namespace {

constexpr std::size_t kBlockRows = 256;
using ColumnBlock = std::array<double, kBlockRows>;

// Applies one operation to the top of the stack, for rows [0, count).
void apply(Op op, std::vector<ColumnBlock>& stack, std::size_t& top, std::size_t count) {
  const int operands = arity(op);
  ColumnBlock& a = stack[top - static_cast<std::size_t>(operands)];
  switch (operands) {
    case 1:
      for (std::size_t i = 0; i < count; ++i) a[i] = evaluate_op(op, a[i]);
      break;
    case 2: {
      const ColumnBlock& b = stack[top - 1];
      for (std::size_t i = 0; i < count; ++i) a[i] = evaluate_op(op, a[i], b[i]);
      break;
    }
    default: {
      const ColumnBlock &b = stack[top - 2], &c = stack[top - 1];
      for (std::size_t i = 0; i < count; ++i) a[i] = evaluate_op(op, a[i], b[i], c[i]);
    }
  }
  top -= static_cast<std::size_t>(operands) - 1;
}

bool has_compound(std::span<const FormulaStep> steps) {
  return std::any_of(steps.begin(), steps.end(),
                     [](const FormulaStep& step) { return step.compound != CompoundFunction::none; });
}

void evaluate_steps(std::span<const FormulaStep> steps, std::span<const Column> columns,
                    std::span<const double> parameters, std::span<double> out) {
  std::vector<ColumnBlock> stack;
  for (std::size_t first = 0; first < out.size(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, out.size() - first);
    std::size_t top = 0;
    for (const FormulaStep& step : steps) {
      if (arity(step.op) > 0) {
        apply(step.op, stack, top, count);
        continue;
      }
      if (top == stack.size()) stack.emplace_back();
      ColumnBlock& leaf = stack[top++];
      if (step.op == Op::column) {
        columns[step.index].read(first, count, leaf.data());
      } else {
        const double value = step.op == Op::parameter ? parameters[step.index] : step.value;
        std::fill_n(leaf.begin(), count, value);
      }
    }
    std::copy_n(stack[0].begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

// Returns the values of one row, for the library's own evaluator. This handles functions that are not a
// single operation.
std::vector<double> row_of(std::span<const Column> columns, std::size_t i) {
  std::vector<double> row(columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) row[k] = columns[k][i];
  return row;
}

}  // namespace

void evaluate_rows(const Formula& formula, std::span<const Column> columns,
                   std::span<const double> parameters, std::span<double> out) {
  if (!has_compound(formula.steps)) return evaluate_steps(formula.steps, columns, parameters, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = formula.evaluate(row_of(columns, i), parameters);
}

void evaluate_response_rows(const Formula& formula, std::span<const Column> columns_and_y,
                            std::span<double> out) {
  const Column& y = columns_and_y.back();
  if (!formula.has_left_side) {
    y.read(0, out.size(), out.data());
  } else if (!has_compound(formula.response_steps)) {
    evaluate_steps(formula.response_steps, columns_and_y, {}, out);
  } else {
    const auto predictors = columns_and_y.first(columns_and_y.size() - 1);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = formula.evaluate_response(row_of(predictors, i), y[i]);
  }
}

}  // namespace nlsq::cli

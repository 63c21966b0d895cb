// Evaluates a formula as typed with the C library for many rows. Each step runs over a block of rows, so that
// a step is decoded once per block and not once per row.
#include "formula/block_values.hpp"

#include "program/local_buffer.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

// The frequent operations are loops that vectorize.
void apply_to_block(const FormulaStep& step, BlockValue& a, const BlockValue& b, const BlockValue& c,
                    int operands, std::size_t count) {
  const auto one = [&](double x, double y, double z) {
    return step.compound != CompoundFunction::none ? evaluate_compound(step.compound, x, y, z)
                                                   : evaluate_op(step.op, x, y, z);
  };
  if (a.uniform() && (operands < 2 || b.uniform()) && (operands < 3 || c.uniform())) {
    a.value = one(a.value, operands > 1 ? b.value : 0, operands > 2 ? c.value : 0);
    return;
  }
  double* out = a.own;
  if (a.uniform()) {
    std::fill_n(out, count, a.value);
    a.rows = out;
  }
  const double* in = a.rows;
  a.rows = out;
  const bool plain = step.compound == CompoundFunction::none;
  const auto binary = [&](auto f) {
    if (b.uniform()) {
      for (std::size_t i = 0; i < count; ++i) out[i] = f(in[i], b.value);
    } else {
      for (std::size_t i = 0; i < count; ++i) out[i] = f(in[i], b.rows[i]);
    }
  };
  if (plain) {
    switch (step.op) {
      case Op::add: return binary([](double x, double y) { return x + y; });
      case Op::sub: return binary([](double x, double y) { return x - y; });
      case Op::mul: return binary([](double x, double y) { return x * y; });
      case Op::div: return binary([](double x, double y) { return x / y; });
      case Op::exp:
        for (std::size_t i = 0; i < count; ++i) out[i] = std::exp(in[i]);
        return;
      case Op::neg:
        for (std::size_t i = 0; i < count; ++i) out[i] = -in[i];
        return;
      case Op::pow:
        if (!b.uniform() || b.value != 2) break;
        for (std::size_t i = 0; i < count; ++i) out[i] = in[i] * in[i];
        return;
      default: break;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    out[i] = one(in[i], operands > 1 ? b[i] : 0, operands > 2 ? c[i] : 0);
}

namespace {

// Does the same as run_steps, for rows [first, first + count) of the columns. count is at most kBlockRows.
void run_block(std::span<const FormulaStep> steps, std::span<const double* const> predictors,
               const double* response, std::span<const double> parameters, std::size_t first,
               std::size_t count, std::span<BlockValue> stack, double* out) {
  std::size_t size = 0;
  for (const FormulaStep& step : steps) {
    const bool leaf = step.compound == CompoundFunction::none;
    if (leaf && step.op == Op::column) {
      const double* column = step.index < predictors.size() ? predictors[step.index] : response;
      stack[size++].rows = column + first;
    } else if (leaf && (step.op == Op::constant || step.op == Op::parameter)) {
      BlockValue& top = stack[size++];
      top.rows = nullptr;
      top.value = step.op == Op::constant ? step.value : parameters[step.index];
    } else {
      const int operands = operands_of(step);
      size -= static_cast<std::size_t>(operands) - 1;
      BlockValue* a = &stack[size - 1];
      apply_to_block(step, *a, operands > 1 ? a[1] : *a, operands > 2 ? a[2] : *a, operands, count);
    }
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = stack[0][i];
}

// Returns the largest number of values on the stack at once.
std::size_t stack_depth(std::span<const FormulaStep> steps) {
  std::ptrdiff_t size = 0, most = 0;
  for (const FormulaStep& step : steps) {
    size += 1 - operands_of(step);
    most = std::max(most, size);
  }
  return static_cast<std::size_t>(most);
}

void evaluate_steps_in_rows(std::span<const FormulaStep> steps, std::span<const double* const> predictors,
                            const double* response, std::span<const double> parameters, std::size_t count,
                            double* out) {
  constexpr std::size_t kShallow = 16;
  const std::size_t depth = stack_depth(steps);
  LocalBuffer<double, kShallow * kBlockRows> rows(depth * kBlockRows);
  LocalBuffer<BlockValue, kShallow> stack(depth);
  for (std::size_t k = 0; k < depth; ++k) stack[k] = {rows.data() + k * kBlockRows};
  for (std::size_t first = 0; first < count; first += kBlockRows) {
    run_block(steps, predictors, response, parameters, first, std::min(kBlockRows, count - first),
              {stack.data(), depth}, out + first);
  }
}

}  // namespace

void Formula::evaluate_rows(std::span<const double* const> x, std::span<const double> p, std::size_t count,
                            double* out) const {
  check_counts(*this, x.size(), p.size());
  evaluate_steps_in_rows(steps, x.first(predictors.size()), nullptr, p, count, out);
}

void Formula::evaluate_response_rows(std::span<const double* const> x, const double* y, std::size_t count,
                                     double* out) const {
  if (!has_left_side) {
    std::copy_n(y, count, out);
    return;
  }
  check_counts(*this, x.size());
  evaluate_steps_in_rows(response_steps, x.first(predictors.size()), y, {}, count, out);
}

}  // namespace nlsq::inline v0

// Operations on blocks of rows by the C library. The frequent ones are loops that vectorize.
#include "formula/block_values.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

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

}  // namespace nlsq::inline v0

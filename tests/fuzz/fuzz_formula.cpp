// Takes any bytes as a formula. If it parses, its steps as typed and its simplified graph must have the same
// value, and its derivatives must build and compile. If it does not parse, the error must say where.
//
// Formulas may amplify rounding without limit, so "the same" needs care. The steps are evaluated many times
// with every operation disturbed by 1e-13, and the graph's value must lie within the range of these values.
// An evaluation that overflows or leaves an operation's domain proves nothing.
#include <nlsq/formula.hpp>
#include <nlsq/special_functions.hpp>
#include "program/tile_program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

using nlsq::CompoundFunction;
using nlsq::Formula;
using nlsq::FormulaStep;
using nlsq::Op;

constexpr double kPredictor[] = {1.25};
constexpr int kWalks = 24;
constexpr double kDisturbance = 1e-13;

// This has its own generator of random numbers, so that a finding can be repeated.
class Disturbance {
 public:
  explicit Disturbance(std::uint64_t seed) : state_(seed) {}
  double operator()(double value) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const int draw = static_cast<int>(state_ >> 62);  // 0, 1: as it is; 2: up; 3: down
    if (draw < 2) return value;
    const double direction = draw == 2 ? 1 : -1;
    return value == 0 ? direction * 1e-300 : value * (1 + direction * kDisturbance);
  }

 private:
  std::uint64_t state_;
};

double apply(const FormulaStep& step, const double* operands) {
  const double a = operands[0];
  switch (step.compound) {
    case CompoundFunction::greater: return a > operands[1];
    case CompoundFunction::greater_equal: return a >= operands[1];
    case CompoundFunction::mod: return a - operands[1] * std::floor(a / operands[1]);
    case CompoundFunction::voigt: return nlsq::voigt(a, operands[1], operands[2]);
    case CompoundFunction::none: break;
  }
  const int n = nlsq::arity(step.op);
  return nlsq::evaluate_op(step.op, a, n > 1 ? operands[1] : 0, n > 2 ? operands[2] : 0);
}

std::size_t operands_of(const FormulaStep& step) {
  switch (step.compound) {
    case CompoundFunction::greater:
    case CompoundFunction::greater_equal:
    case CompoundFunction::mod: return 2;
    case CompoundFunction::voigt: return 3;
    case CompoundFunction::none: break;
  }
  return static_cast<std::size_t>(nlsq::arity(step.op));
}

template <class Disturb>
double walk(const Formula& formula, const std::vector<double>& parameters, Disturb disturb) {
  std::vector<double> stack;
  for (const FormulaStep& step : formula.steps) {
    const std::size_t count = operands_of(step);
    if (count == 0) {
      stack.push_back(step.op == Op::constant    ? step.value
                      : step.op == Op::parameter ? parameters[step.index]
                                                 : kPredictor[step.index]);
      continue;
    }
    const double value = disturb(apply(step, stack.data() + (stack.size() - count)));
    stack.resize(stack.size() - count);
    stack.push_back(value);
  }
  return stack.back();
}

[[noreturn]] void report(const Formula& formula, const char* what, double expected, double found) {
  fmt::print(stderr, "{}: {}\n  steps {}  graph {}\n", what, formula.text, expected, found);
  std::abort();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void compare(const Formula& formula) {
  std::vector<double> parameters(formula.parameters.size());
  for (std::size_t j = 0; j < parameters.size(); ++j) parameters[j] = 0.75 + 0.5 * static_cast<double>(j % 5);
  const double plain = walk(formula, parameters, [](double value) { return value; });
  if (const double own = formula.evaluate(kPredictor, parameters); !same(own, plain)) {
    report(formula, "Formula::evaluate disagrees with its steps", plain, own);
  }
  const double graph = nlsq::evaluate(formula.graph, formula.model, kPredictor, parameters);
  // If rounding decides an equality, values nearby cannot be compared.
  for (const FormulaStep& step : formula.steps) {
    if (step.compound == CompoundFunction::none && (step.op == Op::equal || step.op == Op::not_equal)) return;
  }
  double low = plain, high = plain;
  for (int i = 0; i < kWalks; ++i) {
    const double value = walk(formula, parameters, Disturbance(static_cast<std::uint64_t>(i) * 7919u + 17u));
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!std::isfinite(plain)) return;
  const double slack = 100 * (high - low) + 1e-11 * std::max(std::fabs(low), std::fabs(high)) + 1e-290;
  if (!(graph >= low - slack && graph <= high + slack)) {
    report(formula, "the simplified graph has another value", plain, graph);
  }
}

void derive_and_compile(Formula& formula) {
  constexpr std::size_t kLargest = 400;  // so many nodes allow every shape, and are quick
  if (formula.graph.size() > kLargest || formula.parameters.size() > 12) return;
  std::vector<int> wrt;
  for (std::size_t j = 0; j < formula.parameters.size(); ++j) wrt.push_back(static_cast<int>(j));
  std::vector<nlsq::NodeId> outputs;
  try {
    outputs = nlsq::differentiate(formula.graph, formula.model, wrt);
  } catch (const nlsq::Error&) {
    return;  // an operation without a derivative throws this
  }
  outputs.push_back(formula.model);
  (void)nlsq::compile(formula.graph, outputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    Formula formula = nlsq::parse_formula(text);
    compare(formula);
    derive_and_compile(formula);
  } catch (const nlsq::FormulaError& error) {
    if (error.column() > size || std::strlen(error.what()) == 0) std::abort();
  }
  return 0;
}

// Builds tapes from operations by name, and runs them.
#include "c/tapes/tape.hpp"

#include "c/errors.hpp"
#include "expression/graph_walk.hpp"
#include "formula/block_values.hpp"
#include "formula/formula_functions.hpp"

#include "program/local_buffer.hpp"

#include <nlsq/op.hpp>
#include <nlsq/traced.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

namespace nlsq::inline v0::c {

namespace {

constexpr std::size_t kMostSteps = 1000000, kMostIndex = 1000000;

// Operators, and operations that do not exist in formulas.
struct Operator {
  std::string_view name;
  Op op;
  std::size_t operands;
  bool more_allowed = false;  // combined from the left
};
constexpr std::array kOperators = {
    Operator{"+", Op::add, 2, true},     Operator{"-", Op::sub, 2},
    Operator{"*", Op::mul, 2, true},     Operator{"/", Op::div, 2},
    Operator{"^", Op::pow, 2},           Operator{"**", Op::pow, 2},
    Operator{"-", Op::neg, 1},           Operator{"!", Op::logical_not, 1},
    Operator{"<", Op::less, 2},          Operator{"<=", Op::less_equal, 2},
    Operator{"==", Op::equal, 2},        Operator{"!=", Op::not_equal, 2},
    Operator{"&&", Op::logical_and, 2},  Operator{"||", Op::logical_or, 2},
    Operator{"fmod", Op::fmod, 2},       Operator{"wofz_re", Op::wofz_re, 2},
    Operator{"wofz_im", Op::wofz_im, 2},
};

std::optional<Operator> operator_named(std::string_view name, std::size_t count) {
  for (const Operator& o : kOperators) {
    if (o.name == name && (count == o.operands || (o.more_allowed && count > o.operands))) return o;
  }
  return std::nullopt;
}

bool is_operator(std::string_view name) {
  return std::ranges::any_of(kOperators, [&](const Operator& o) { return o.name == name; });
}

// Each of these functions returns the result of one operation of a graph: of doubles, of recorded numbers, or
// of dual numbers.
double apply(Op op, double a, double b, double c) { return evaluate_op(op, a, b, c); }
Traced apply(Op op, const Traced& a, const Traced& b, const Traced& c) { return record_op(op, a, b, c); }

bool is_plain(const Dual8& a) {
  for (int k = 0; k < kDualWidth; ++k) {
    if (a.derivative(k) != 0) return false;
  }
  return true;
}

Dual8 of_two(Op op, const Dual8& a, const Dual8& b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    // The derivative by a plain exponent is not needed; it would be NaN for a negative base.
    case Op::pow: return is_plain(b) ? pow(a, b.value()) : pow(a, b);
    case Op::hypot: return hypot(a, b);
    case Op::atan2: return atan2(a, b);
    case Op::min: return min(a, b);
    case Op::max: return max(a, b);
    case Op::fmod: return fmod(a, b);
    case Op::wofz_re: return wofz_re(a, b);
    case Op::wofz_im: return wofz_im(a, b);
    default: return Dual8(evaluate_op(op, a.value(), b.value()));  // comparisons and logic
  }
}

Dual8 of_one(Op op, const Dual8& a) {
  switch (op) {
    case Op::neg: return -a;
    case Op::abs: return abs(a);
    case Op::sqrt: return sqrt(a);
#define NLSQ_CASE(function) \
  case Op::function: return function(a);
      NLSQ_ELEMENTARY_FUNCTIONS(NLSQ_CASE)
#undef NLSQ_CASE
    case Op::erfc: return erfc(a);
    case Op::erfcx: return erfcx(a);
    case Op::gamma: return gamma_function(a);
    case Op::lgamma: return lgamma_function(a);
    case Op::digamma: return digamma(a);
    case Op::besj0: return besj0(a);
    case Op::besj1: return besj1(a);
    default: return Dual8(evaluate_op(op, a.value()));  // sign, floor, ceil, not
  }
}

// Comparisons, logic and steps have derivative 0, as in a graph.
Dual8 apply(Op op, const Dual8& a, const Dual8& b, const Dual8& c) {
  if (op == Op::select) return a.value() != 0 ? b : c;
  return arity(op) == 2 ? of_two(op, a, b) : of_one(op, a);
}

}  // namespace

int Tape::append(const Node& step) {
  if (steps_.size() >= kMostSteps)
    throw ModelError(fmt::format("the tape has {} operations, the most that one may have", kMostSteps));
  steps_.push_back(step);
  return static_cast<int>(steps_.size() - 1);
}

std::uint32_t Tape::known(int node) const {
  if (node < 0 || static_cast<std::size_t>(node) >= steps_.size())
    throw ModelError(fmt::format("node {} is not on the tape, which has {} nodes", node, steps_.size()));
  return static_cast<std::uint32_t>(node);
}

int Tape::constant(double value) { return append({.value = value}); }

int Tape::numbered(Op op, std::size_t index, std::size_t& count) {
  if (index >= kMostIndex)
    throw ModelError(fmt::format("{} {}: use indices below {}", name(op), index, kMostIndex));
  const int node = append({.op = op, .index = static_cast<std::uint32_t>(index)});
  count = std::max(count, index + 1);
  return node;
}

int Tape::column(std::size_t index) { return numbered(Op::column, index, columns_); }

int Tape::parameter(std::size_t index) { return numbered(Op::parameter, index, parameters_); }

void Tape::output(int node) { outputs_.push_back(static_cast<int>(known(node))); }

// mod and voigt are several operations; the names with > are the others with exchanged operands.
int Tape::compound(CompoundFunction function, std::span<const int> nodes) {
  const auto add = [&](Op op, int a, int b = 0) {
    return append({.op = op, .a = static_cast<std::uint32_t>(a), .b = static_cast<std::uint32_t>(b)});
  };
  if (function == CompoundFunction::mod) {
    const int whole = add(Op::floor, add(Op::div, nodes[0], nodes[1]));
    return add(Op::sub, nodes[0], add(Op::mul, nodes[1], whole));
  }
  const int scale = add(Op::mul, nodes[1], constant(std::numbers::sqrt2));
  const int w = add(Op::wofz_re, add(Op::div, nodes[0], scale), add(Op::div, nodes[2], scale));
  return add(Op::div, w, add(Op::mul, nodes[1], constant(std::sqrt(2 * std::numbers::pi))));
}

int Tape::operation(std::string_view name, std::span<const int> nodes) {
  for (const int node : nodes) known(node);
  if (name == "+" && nodes.size() == 1) return nodes[0];
  if (nodes.size() == 2 && (name == ">" || name == ">=")) {
    const int exchanged[] = {nodes[1], nodes[0]};
    return operation(name == ">" ? "<" : "<=", exchanged);
  }
  std::optional<Operator> found = operator_named(name, nodes.size());
  if (!found) {
    const FormulaFunction* const function = find_function(name);
    if (function == nullptr) {
      if (is_operator(name) || name == ">" || name == ">=")
        throw ModelError(fmt::format("the operator {} does not take {} operands", name, nodes.size()));
      throw ModelError(
          fmt::format("there is no operation '{}'{}", name.substr(0, 80), suggest_function(name)));
    }
    const auto wanted = static_cast<std::size_t>(function->arguments);
    if (nodes.size() != wanted && !(function->more_allowed && nodes.size() > wanted)) {
      throw ModelError(fmt::format("{} takes {}, not {}", name, expected_arguments(*function), nodes.size()));
    }
    if (function->compound != CompoundFunction::none) {
      if (steps_.size() + 8 > kMostSteps) append({});  // throws before anything is appended
      return compound(function->compound, nodes);
    }
    found = Operator{function->name, function->op, wanted, function->more_allowed};
  }
  if (steps_.size() + nodes.size() > kMostSteps + 1)
    throw ModelError(fmt::format("the tape would have more than {} operations", kMostSteps));
  const auto operand = [&](std::size_t i) {
    return i < nodes.size() ? static_cast<std::uint32_t>(nodes[i]) : 0;
  };
  int node = append({.op = found->op, .a = operand(0), .b = operand(1), .c = operand(2)});
  for (std::size_t i = found->operands; i < nodes.size(); ++i)
    node = append({.op = found->op, .a = static_cast<std::uint32_t>(node), .b = operand(i)});
  return node;
}

template <class T, class X>
void Tape::run(const X* columns, const T* parameters, T* outputs) const {
  std::vector<T> slots(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Node& s = steps_[i];
    switch (s.op) {
      case Op::constant: slots[i] = T(s.value); break;
      case Op::column: slots[i] = T(columns[s.index]); break;
      case Op::parameter: slots[i] = parameters[s.index]; break;
      default: slots[i] = apply(s.op, slots[s.a], slots[s.b], slots[s.c]);
    }
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) outputs[k] = slots[static_cast<std::size_t>(outputs_[k])];
}
template void Tape::run(const double*, const double*, double*) const;
template void Tape::run(const double*, const Traced*, Traced*) const;
template void Tape::run(const Traced*, const Traced*, Traced*) const;
template void Tape::run(const double*, const Dual8*, Dual8*) const;

void Tape::run_rows(std::span<const double* const> columns, const double* parameters, std::size_t count,
                    std::span<const double> noise, double* out) const {
  constexpr std::size_t kShort = 16;
  LocalBuffer<double, kShort * kBlockRows> memory(steps_.size() * kBlockRows);
  LocalBuffer<BlockValue, kShort> slots(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) slots[i] = {memory.data() + i * kBlockRows};
  for (std::size_t first = 0; first < count; first += kBlockRows) {
    const std::size_t rows = std::min(kBlockRows, count - first);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Node& s = steps_[i];
      BlockValue& result = slots[i];
      result.rows = s.op == Op::column ? columns[s.index] + first : nullptr;
      if (s.op == Op::constant) result.value = s.value;
      if (s.op == Op::parameter) result.value = parameters[s.index];
      if (arity(s.op) == 0) continue;
      result.rows = slots[s.a].rows;
      result.value = slots[s.a].value;
      apply_to_block({s.op}, result, slots[s.b], slots[s.c], arity(s.op), rows);
      if (noise.empty()) continue;
      if (result.uniform()) result.value *= 1 + noise[i];
      for (std::size_t r = 0; r < rows && !result.uniform(); ++r) result.own[r] *= 1 + noise[i];
    }
    const BlockValue& value = slots[static_cast<std::size_t>(outputs_[0])];
    if (value.uniform()) std::fill_n(out + first, rows, value.value);
    else std::copy_n(value.rows, rows, out + first);
  }
}

// Computes FNV-1a of all steps and of output 0. Operands that a step does not use are 0 in all of them.
std::uint64_t Tape::identity() const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (number >> (8 * byte) & 0xff)) * 0x100000001b3;
  };
  for (const Node& s : steps_) {
    for (const std::uint32_t part : {static_cast<std::uint32_t>(s.op), s.a, s.b, s.c, s.index}) add(part);
    add(std::bit_cast<std::uint64_t>(s.value));
  }
  add(static_cast<std::uint64_t>(outputs_[0]));
  return hash;
}

std::string Tape::text(std::span<const std::string> parameters, std::span<const std::string> columns) const {
  // A formula repeats the operations that a tape shares, so it can be much longer than the tape.
  constexpr double kMostTerms = 2000;
  std::vector<double> terms;
  for (const Node& s : steps_) {
    double sum = 1;
    for (const std::uint32_t operand : Operands(s)) sum += terms[operand];
    terms.push_back(sum);
  }
  if (terms[static_cast<std::size_t>(outputs_[0])] > kMostTerms)
    return fmt::format("(a tape of {} operations, {:016x})", steps_.size(), identity());
  Graph graph;
  std::vector<NodeId> nodes;
  nodes.reserve(steps_.size());
  for (const Node& s : steps_) nodes.push_back(rebuilt(graph, s, nodes));
  return to_string(graph, nodes[static_cast<std::size_t>(outputs_[0])], parameters, columns);
}

}  // namespace nlsq::inline v0::c

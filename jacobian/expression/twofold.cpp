// Implements twofold numbers and TwofoldExpression.
#include "expression/twofold.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kRoundoffOfTwofold = 0x1p-98;
constexpr double kRoundoffOfLong = 4 * static_cast<double>(std::numeric_limits<long double>::epsilon());
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// a + b exactly, as a rounded sum and its error (Knuth).
Twofold exact_sum(double a, double b) {
  const double sum = a + b, back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}

Twofold exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

Twofold negative(Twofold a) { return {-a.high, -a.low}; }
bool is_less(Twofold a, Twofold b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
bool is_equal(Twofold a, Twofold b) { return a.high == b.high && a.low == b.low; }

Twofold twofold_quotient(Twofold a, Twofold b) {
  Twofold quotient{a.high / b.high, 0};
  for (int k = 0; k < 2; ++k) {
    const Twofold left = twofold_sum(a, negative(twofold_product(quotient, b)));
    if (!std::isfinite(left.high)) return {a.high / b.high, 0};
    quotient = twofold_sum(quotient, {left.high / b.high, 0});
  }
  return quotient;
}

Twofold twofold_root(Twofold a) {
  const double root = std::sqrt(a.high);
  if (!(root > 0) || !std::isfinite(root)) return {root, 0};
  const Twofold left = twofold_sum(a, negative(exact_product(root, root)));
  return exact_sum(root, left.high / (2 * root));
}

// Rounds towards -∞.
Twofold twofold_floor(Twofold a) {
  const double whole = std::floor(a.high);
  return whole == a.high ? exact_sum(whole, std::floor(a.low)) : Twofold{whole, 0};
}

long double joined(Twofold a) { return static_cast<long double>(a.high) + static_cast<long double>(a.low); }
Twofold split(long double value) {
  const auto high = static_cast<double>(value);
  if (!std::isfinite(high)) return {high, 0};
  return {high, static_cast<double>(value - static_cast<long double>(high))};
}

// Operations whose results are as accurate as twofold numbers are.
std::optional<Twofold> by_twofold(Op op, Twofold a, Twofold b, Twofold c) {
  const auto truth = [](bool value) { return Twofold{value ? 1.0 : 0.0, 0}; };
  switch (op) {
    case Op::add: return twofold_sum(a, b);
    case Op::sub: return twofold_sum(a, negative(b));
    case Op::mul: return twofold_product(a, b);
    case Op::div: return twofold_quotient(a, b);
    case Op::neg: return negative(a);
    case Op::abs: return std::signbit(a.high) ? negative(a) : a;
    case Op::sign: return Twofold{a.high > 0 ? 1 : a.high < 0 ? -1 : a.high, 0};
    case Op::floor: return twofold_floor(a);
    case Op::ceil: return negative(twofold_floor(negative(a)));
    case Op::sqrt: return twofold_root(a);
    case Op::min: return std::isnan(a.high) || is_less(a, b) ? a : b;
    case Op::max: return std::isnan(a.high) || is_less(b, a) ? a : b;
    case Op::less: return truth(is_less(a, b));
    case Op::less_equal: return truth(is_less(a, b) || is_equal(a, b));
    case Op::equal: return truth(is_equal(a, b));
    case Op::not_equal: return truth(!is_equal(a, b));
    case Op::logical_and: return truth(a.high != 0 && b.high != 0);
    case Op::logical_or: return truth(a.high != 0 || b.high != 0);
    case Op::logical_not: return truth(a.high == 0);
    case Op::select: return a.high != 0 ? b : c;
    default: return std::nullopt;
  }
}

// Operations for which the C library has a function of long double.
std::optional<long double> by_long_double(Op op, long double a, long double b) {
  switch (op) {
    case Op::cbrt: return std::cbrt(a);
    case Op::exp: return std::exp(a);
    case Op::expm1: return std::expm1(a);
    case Op::log: return std::log(a);
    case Op::log10: return std::log10(a);
    case Op::log2: return std::log2(a);
    case Op::log1p: return std::log1p(a);
    case Op::sin: return std::sin(a);
    case Op::cos: return std::cos(a);
    case Op::tan: return std::tan(a);
    case Op::asin: return std::asin(a);
    case Op::acos: return std::acos(a);
    case Op::atan: return std::atan(a);
    case Op::sinh: return std::sinh(a);
    case Op::cosh: return std::cosh(a);
    case Op::tanh: return std::tanh(a);
    case Op::asinh: return std::asinh(a);
    case Op::acosh: return std::acosh(a);
    case Op::atanh: return std::atanh(a);
    case Op::erf: return std::erf(a);
    case Op::erfc: return std::erfc(a);
    case Op::pow: return std::pow(a, b);
    case Op::hypot: return std::hypot(a, b);
    case Op::atan2: return std::atan2(a, b);
    case Op::fmod: return std::fmod(a, b);
    default: return std::nullopt;
  }
}

}  // namespace

Twofold twofold_sum(Twofold a, Twofold b) {
  const Twofold high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  if (!std::isfinite(high.high)) return {high.high, 0};
  const Twofold first = exact_sum(high.high, high.low + low.high);
  return exact_sum(first.high, first.low + low.low);
}

Twofold twofold_product(Twofold a, Twofold b) {
  const Twofold product = exact_product(a.high, b.high);
  if (!std::isfinite(product.high)) return {product.high, 0};
  return exact_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

TwofoldExpression::TwofoldExpression(const Graph& graph, NodeId root) : roundoff_(kRoundoffOfTwofold) {
  std::vector<std::size_t> place(root + 1, kNone);
  std::vector<bool> needed(root + 1, false);
  needed[root] = true;
  for (NodeId id = root + 1; id-- > 0;) {
    if (!needed[id]) continue;
    const NodeId operands[] = {graph[id].a, graph[id].b, graph[id].c};
    for (int k = 0; k < arity(graph[id].op); ++k) needed[operands[k]] = true;
  }
  for (NodeId id = 0; id <= root; ++id) {
    if (!needed[id]) continue;
    const Node& node = graph[id];
    Step step{node};
    const int operands = arity(node.op);
    if (operands > 0) step.a = place[node.a];
    if (operands > 1) step.b = place[node.b];
    if (operands > 2) step.c = place[node.c];
    if (operands > 0 && !by_twofold(node.op, {}, {}, {})) {
      usable_ = usable_ && by_long_double(node.op, 1, 1).has_value();
      roundoff_ = kRoundoffOfLong;
    }
    place[id] = steps_.size();
    steps_.push_back(step);
  }
  values_.resize(steps_.size());
}

Twofold TwofoldExpression::run(std::span<const double> columns, std::span<const double> parameters,
                               std::size_t moved) {
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const auto& [node, a, b, c] = steps_[k];
    Twofold& value = values_[k];
    switch (node.op) {
      case Op::constant: value = {node.value, 0}; break;
      case Op::column: value = {columns[node.index], 0}; break;
      case Op::parameter: value = {parameters[node.index], 0}; break;
      case Op::unexplored: value = {std::numeric_limits<double>::quiet_NaN(), 0}; break;
      default: {
        const std::optional<Twofold> twofold = by_twofold(node.op, values_[a], values_[b], values_[c]);
        value = twofold ? *twofold
                        : split(by_long_double(node.op, joined(values_[a]), joined(values_[b]))
                                    .value_or(std::numeric_limits<long double>::quiet_NaN()));
      }
    }
    if (k == moved) value.low = 0x1p-53 * value.high;
  }
  return values_.back();
}

Twofold TwofoldExpression::operator()(std::span<const double> columns, std::span<const double> parameters) {
  return last_ = run(columns, parameters, kNone);
}

double TwofoldExpression::change_by_last_digits(std::span<const double> columns,
                                                std::span<const double> parameters) {
  double sum = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    if (!is_datum(steps_[k])) continue;
    const double change = twofold_sum(run(columns, parameters, k), negative(last_)).rounded();
    if (std::isfinite(change)) sum += std::fabs(change);
  }
  return sum;
}

}  // namespace nlsq::inline v0

// Implements twofold numbers and TwofoldExpression.
#include "expression/twofold.hpp"

#include "expression/graph_walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kRoundoffOfTwofold = 0x1p-98;
constexpr double kRoundoffOfLong = 4 * static_cast<double>(std::numeric_limits<long double>::epsilon());
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Returns a + b exactly, as a rounded sum and its error (Knuth).
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

// Returns the largest integer that is at most a.
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

// Computes operations whose results are as accurate as twofold numbers. Returns nothing for others.
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

// Holds the value of a function of long double, and its derivatives by its arguments. `bend` is half its
// second derivative by the first argument. Rounding to long double changes an argument by 2⁻⁶⁴ of itself at
// most, so the second derivative only matters for sines of huge arguments and where the slope is nearly
// infinite. `bend` is 0 everywhere else.
struct Smooth {
  long double value = 0, by_a = 0, by_b = 0, bend = 0;
};

std::optional<Smooth> of_one(Op op, long double a) {
  using std::numbers::inv_sqrtpi_v, std::numbers::ln10_v, std::numbers::ln2_v;
  const auto with = [](long double value, long double slope, long double bend = 0) {
    return Smooth{value, slope, 0, bend};
  };
  const long double tangent = op == Op::tan ? std::tan(a) : 0, beside_one = (1 - a) * (1 + a);
  switch (op) {
    case Op::cbrt: return with(std::cbrt(a), std::cbrt(a) / (3 * a));
    case Op::exp: return with(std::exp(a), std::exp(a));
    case Op::expm1: return with(std::expm1(a), std::exp(a));
    case Op::log: return with(std::log(a), 1 / a);
    case Op::log10: return with(std::log10(a), 1 / (a * ln10_v<long double>));
    case Op::log2: return with(std::log2(a), 1 / (a * ln2_v<long double>));
    case Op::log1p: return with(std::log1p(a), 1 / (1 + a));
    case Op::sin: return with(std::sin(a), std::cos(a), -std::sin(a) / 2);
    case Op::cos: return with(std::cos(a), -std::sin(a), -std::cos(a) / 2);
    case Op::tan: return with(tangent, 1 + tangent * tangent, tangent * (1 + tangent * tangent));
    case Op::asin: return with(std::asin(a), 1 / std::sqrt(beside_one), a / 2 * std::pow(beside_one, -1.5L));
    case Op::acos:
      return with(std::acos(a), -1 / std::sqrt(beside_one), -a / 2 * std::pow(beside_one, -1.5L));
    case Op::atan: return with(std::atan(a), 1 / (1 + a * a));
    case Op::sinh: return with(std::sinh(a), std::cosh(a));
    case Op::cosh: return with(std::cosh(a), std::sinh(a));
    case Op::tanh: return with(std::tanh(a), 1 / (std::cosh(a) * std::cosh(a)));
    case Op::asinh: return with(std::asinh(a), 1 / std::sqrt(1 + a * a));
    case Op::acosh:
      return with(std::acosh(a), 1 / std::sqrt(-beside_one), -a / 2 * std::pow(-beside_one, -1.5L));
    case Op::atanh: return with(std::atanh(a), 1 / beside_one, a / (beside_one * beside_one));
    case Op::erf: return with(std::erf(a), 2 * inv_sqrtpi_v<long double> * std::exp(-a * a));
    case Op::erfc: return with(std::erfc(a), -2 * inv_sqrtpi_v<long double> * std::exp(-a * a));
    default: return std::nullopt;
  }
}

std::optional<Smooth> of_two(Op op, long double a, long double b) {
  switch (op) {
    case Op::pow: {
      const long double value = std::pow(a, b);
      return Smooth{value, b * std::pow(a, b - 1), a > 0 ? value * std::log(a) : 0};
    }
    case Op::hypot: {
      const long double value = std::hypot(a, b);
      return Smooth{value, value > 0 ? a / value : 1, value > 0 ? b / value : 1};
    }
    case Op::atan2: return Smooth{std::atan2(a, b), b / (a * a + b * b), -a / (a * a + b * b)};
    case Op::fmod: return Smooth{std::fmod(a, b), 1, -std::trunc(a / b)};
    default: return std::nullopt;
  }
}

std::optional<Smooth> by_long_double(Op op, long double a, long double b) {
  return arity(op) == 1 ? of_one(op, a) : of_two(op, a, b);
}

// Returns the part of a number that is lost when it is rounded to long double.
long double rest_of(Twofold a) {
  return (static_cast<long double>(a.high) - joined(a)) + static_cast<long double>(a.low);
}

TwofoldValue apply_smooth(Op op, const TwofoldValue& a, const TwofoldValue& b) {
  const std::optional<Smooth> at = by_long_double(op, joined(a.number), joined(b.number));
  if (!at) return {{std::numeric_limits<double>::quiet_NaN(), 0}, 0};
  const auto moved = [](long double slope, Twofold argument) {
    const long double rest = rest_of(argument);
    return rest == 0 ? 0 : slope * rest;
  };
  TwofoldValue out{split(at->value), kRoundoffOfLong * std::fabs(static_cast<double>(at->value))};
  out.number = twofold_sum(out.number, split(moved(at->by_a, a.number)));
  const auto spread = [](long double slope, double error) {
    return error == 0 ? 0 : std::fabs(static_cast<double>(slope)) * error;
  };
  out.error += spread(at->by_a, a.error);
  // The second-order term is not added to the number. It counts as an error.
  out.error += std::fabs(static_cast<double>(moved(at->bend * rest_of(a.number), a.number)));
  if (arity(op) < 2) return out;
  out.number = twofold_sum(out.number, split(moved(at->by_b, b.number)));
  out.error += spread(at->by_b, b.error);
  return out;
}

// Returns the error of an operation of by_twofold(), computed from the errors of its operands.
double error_of(Op op, const TwofoldValue& a, const TwofoldValue& b, const TwofoldValue& c, double value) {
  const double size_a = std::fabs(a.number.high), size_b = std::fabs(b.number.high);
  const double own = kRoundoffOfTwofold * std::fabs(value);
  switch (op) {
    case Op::add:
    case Op::sub: return a.error + b.error + own + kRoundoffOfTwofold * (size_a + size_b);
    case Op::mul: return size_a * b.error + size_b * a.error + own;
    case Op::div: return (a.error + std::fabs(value) * b.error) / size_b + own;
    case Op::sqrt: return (value > 0 ? 0.5 * a.error / value : std::sqrt(a.error)) + own;
    case Op::neg:
    case Op::abs: return a.error;
    case Op::min:
    case Op::max: return std::max(a.error, b.error);
    case Op::select: return a.number.high != 0 ? b.error : c.error;
    default: return 0;
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

TwofoldExpression::TwofoldExpression(const Graph& graph, NodeId root) {
  std::vector<std::size_t> place(root + 1, kNone);
  const std::vector<std::uint8_t> needed = needed_for(graph, root), depends = graph.depends_on_parameters();
  for (NodeId id = 0; id <= root; ++id) {
    if (!needed[id]) continue;
    const Node& node = graph[id];
    Step step{node, depends[id] != 0};
    const int operands = arity(node.op);
    if (operands > 0) step.a = place[node.a];
    if (operands > 1) step.b = place[node.b];
    if (operands > 2) step.c = place[node.c];
    if (operands > 0 && !by_twofold(node.op, {}, {}, {}))
      usable_ = usable_ && by_long_double(node.op, 1, 1).has_value();
    place[id] = steps_.size();
    steps_.push_back(step);
  }
  values_.resize(steps_.size());
}

TwofoldValue TwofoldExpression::run(std::span<const double> columns, std::span<const double> parameters,
                                    Change change) {
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const auto& [node, depends, a, b, c] = steps_[k];
    TwofoldValue& value = values_[k];
    switch (node.op) {
      case Op::constant: value = {{node.value, 0}, 0}; break;
      case Op::column: value = {{columns[node.index], 0}, 0}; break;
      case Op::parameter: value = {{parameters[node.index], 0}, 0}; break;
      case Op::unexplored: value = {{std::numeric_limits<double>::quiet_NaN(), 0}, 0}; break;
      default: {
        const TwofoldValue &x = values_[a], &y = values_[b], &z = values_[c];
        const std::optional<Twofold> number = by_twofold(node.op, x.number, y.number, z.number);
        value = number ? TwofoldValue{*number, error_of(node.op, x, y, z, number->high)}
                       : apply_smooth(node.op, x, y);
      }
    }
    if (k == change.place) value.number = exact_sum(value.number.high, change.amount);
  }
  return values_.back();
}

double TwofoldExpression::value(std::span<const double> columns, const Datum& datum) const {
  const Node& node = steps_[datum.place].node;
  return node.op == Op::column ? columns[node.index] : node.value;
}

double TwofoldExpression::change(std::span<const double> columns, std::span<const double> parameters,
                                 const Datum& datum, double amount) {
  const Twofold here = run(columns, parameters, {}).number;
  const Twofold there = run(columns, parameters, {datum.place, amount}).number;
  return twofold_sum(there, negative(here)).rounded();
}

std::vector<TwofoldExpression::Datum> TwofoldExpression::data(auto&& wanted) const {
  std::vector<Datum> out;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Node& node = steps_[k].node;
    const bool is_column = node.op == Op::column;
    if ((is_column || node.op == Op::constant) && wanted(k, is_column))
      out.push_back({k, is_column ? static_cast<int>(node.index) : -1});
  }
  return out;
}

std::vector<TwofoldExpression::Datum> TwofoldExpression::datum(int column) const {
  return data([&](std::size_t k, bool is_column) {
    return is_column && static_cast<int>(steps_[k].node.index) == column;
  });
}

// Returns for each step whether something that depends on parameters multiplies it on the way to the value.
// The search goes from the value to the leaves.
std::vector<std::uint8_t> TwofoldExpression::multiplied_by_parameters() const {
  std::vector<std::uint8_t> out(steps_.size(), 0);
  for (std::size_t k = steps_.size(); k-- > 0;) {
    const auto& [node, depends, a, b, c] = steps_[k];
    const bool sum = node.op == Op::add || node.op == Op::sub || node.op == Op::neg || !depends;
    const bool product = node.op == Op::mul || node.op == Op::div;
    const int operands = arity(node.op);
    if (operands > 0) out[a] |= out[k] || !(sum || (product && !steps_[b].depends));
    if (operands > 1) out[b] |= out[k] || !(sum || (node.op == Op::mul && !steps_[a].depends));
    if (operands > 2) out[c] |= out[k] || !sum;
  }
  return out;
}

std::vector<TwofoldExpression::Datum> TwofoldExpression::responses(int no_response) const {
  const std::vector<std::uint8_t> multiplied = multiplied_by_parameters();
  for (const bool any : {false, true}) {
    for (const bool columns : {true, false}) {
      std::vector<Datum> found = data([&](std::size_t k, bool is_column) {
        const bool left_out = is_column && static_cast<int>(steps_[k].node.index) == no_response;
        return is_column == columns && !left_out && (any || multiplied[k] == 0);
      });
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace nlsq::inline v0

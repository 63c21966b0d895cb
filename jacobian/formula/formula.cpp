// parse_formula: splits the two sides, builds their graphs, and evaluates the formula as typed.
#include <nlsq/formula.hpp>

#include "formula/block_values.hpp"
#include "formula/formula_functions.hpp"
#include "formula/formula_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

namespace nlsq::inline v0 {

namespace {

NodeId make_compound(Graph& g, CompoundFunction compound, NodeId a, NodeId b, NodeId c) {
  switch (compound) {
    case CompoundFunction::greater: return g.make(Op::less, b, a);
    case CompoundFunction::greater_equal: return g.make(Op::less_equal, b, a);
    case CompoundFunction::mod: return g.sub(a, g.mul(b, g.make(Op::floor, g.div(a, b))));
    default: {
      const NodeId scale = g.mul(b, g.constant(std::numbers::sqrt2));
      const NodeId w = g.make(Op::wofz_re, g.div(a, scale), g.div(c, scale));
      return g.div(w, g.mul(b, g.constant(std::sqrt(2 * std::numbers::pi))));
    }
  }
}

NodeId build_graph(Graph& graph, std::span<const FormulaStep> steps) {
  std::vector<NodeId> stack;
  for (const FormulaStep& step : steps) {
    NodeId operands[3] = {0, 0, 0};
    const int count = operands_of(step);
    for (int i = count; i-- > 0; stack.pop_back()) operands[i] = stack.back();
    if (step.compound != CompoundFunction::none) {
      stack.push_back(make_compound(graph, step.compound, operands[0], operands[1], operands[2]));
      continue;
    }
    switch (step.op) {
      case Op::constant: stack.push_back(graph.constant(step.value)); break;
      case Op::column: stack.push_back(graph.column(static_cast<int>(step.index))); break;
      case Op::parameter: stack.push_back(graph.parameter(static_cast<int>(step.index))); break;
      default: stack.push_back(graph.make(step.op, operands[0], operands[1], operands[2]));
    }
  }
  return stack.back();
}

// Computes the value of the steps. `stack` has room for all steps. Column `predictors.size()` is the
// response.
double run_steps(std::span<const FormulaStep> steps, std::span<const double> predictors, double response,
                 std::span<const double> parameters, double* stack) {
  std::size_t size = 0;
  for (const FormulaStep& step : steps) {
    double operands[3] = {0, 0, 0};
    for (int i = operands_of(step); i-- > 0;) operands[i] = stack[--size];
    double& result = stack[size++];
    if (step.compound != CompoundFunction::none) {
      result = evaluate_compound(step.compound, operands[0], operands[1], operands[2]);
    } else if (step.op == Op::constant) {
      result = step.value;
    } else if (step.op == Op::column) {
      result = step.index < predictors.size() ? predictors[step.index] : response;
    } else if (step.op == Op::parameter) {
      result = parameters[step.index];
    } else {
      result = evaluate_op(step.op, operands[0], operands[1], operands[2]);
    }
  }
  return stack[0];
}

double evaluate_steps(std::span<const FormulaStep> steps, std::span<const double> predictors, double response,
                      std::span<const double> parameters) {
  constexpr std::size_t kSmall = 128;
  if (steps.size() <= kSmall) {
    std::array<double, kSmall> stack;
    return run_steps(steps, predictors, response, parameters, stack.data());
  }
  std::vector<double> stack(steps.size());
  return run_steps(steps, predictors, response, parameters, stack.data());
}

void check_options(const FormulaOptions& options) {
  std::vector<std::string> violations;
  std::set<std::string> seen;
  for (const std::string& name : options.predictors) {
    if (name.empty()) violations.push_back("a predictor needs a name");
    if (name == "pi")
      violations.push_back("the predictor 'pi' would hide the constant pi: give the column another name");
    if (name == options.response && !name.empty()) {
      violations.push_back(
          fmt::format("the predictor '{0}' and the response '{0}' have the same name", name));
    }
    if (!seen.insert(name).second && !name.empty()) {
      violations.push_back(fmt::format("two predictors are named '{}'", name));
    }
  }
  if (options.response == "pi") violations.push_back("the response 'pi' would hide the constant pi");
  if (!violations.empty()) throw ValidationError(violations);
}

// Returns the position of the first '=' outside parentheses, or tokens.size() if there is none.
std::size_t find_equals(std::span<const Token> tokens, const std::string& text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].symbol == Symbol::open) ++depth;
    if (tokens[i].symbol == Symbol::close && depth > 0) --depth;
    if (tokens[i].symbol != Symbol::assign) continue;
    if (depth == 0) return i;
    throw FormulaError("this '=' is inside parentheses: to compare write ==, else a ')' is missing before it",
                       text, tokens[i].column);
  }
  return tokens.size();
}

// Returns the arguments of a left side that is written as gnuplot's functions are, f(x) = ...: a name of its
// own and names for arguments. The result is empty if the left side has another form.
std::vector<Token> definition_arguments(std::span<const Token> left, const FormulaOptions& options) {
  const std::size_t count = left.size();
  if (count < 4 || count % 2 != 0 || left[0].symbol != Symbol::name || left[1].symbol != Symbol::open ||
      left[count - 1].symbol != Symbol::close)
    return {};
  const std::string_view head = left[0].text;
  const bool known =
      find_function(head) || std::ranges::find(options.predictors, head) != options.predictors.end();
  if (known) return {};
  std::vector<Token> arguments;
  for (std::size_t i = 2; i + 1 < count; ++i) {
    if (left[i].symbol != (i % 2 == 0 ? Symbol::name : Symbol::comma)) return {};
    if (i % 2 == 0) arguments.push_back(left[i]);
  }
  return arguments;
}

// Returns true if the left side is f(x) = ... with predictors for arguments, which means the response. Throws
// FormulaError if an argument is no predictor.
bool is_definition(std::span<const Token> left, const FormulaOptions& options, const std::string& text) {
  const std::vector<Token> arguments = definition_arguments(left, options);
  const std::string predictors = fmt::format("{}", fmt::join(options.predictors, ", "));
  for (const Token& argument : arguments) {
    if (std::ranges::find(options.predictors, argument.text) != options.predictors.end()) continue;
    const std::string advice =
        predictors.empty() ? fmt::format("there is none; write {} = ...", options.response)
        : arguments.size() == options.predictors.size()
            ? fmt::format("write {}({}) = ..., and {} for {} in the formula", left[0].text, predictors,
                          options.predictors[static_cast<std::size_t>(&argument - arguments.data())],
                          argument.text)
            : fmt::format(
                  "the data have {}; write {}({}) = ..., or choose as many columns as the function has "
                  "arguments",
                  predictors, left[0].text, predictors);
    throw FormulaError(
        fmt::format("'{}' is {}: {}", argument.text,
                    argument.text == options.response ? "the response, not a predictor" : "not a predictor",
                    advice),
        text, argument.column);
  }
  return !arguments.empty();
}

void parse_left_side(Formula& formula, std::vector<Token> tokens, const Token& equals,
                     const FormulaOptions& options) {
  const auto fail = [&](const std::string& message, std::size_t column) {
    throw FormulaError(message, formula.text, column);
  };
  if (options.response.empty()) fail("an '=' has no place here: to compare write ==", equals.column);
  if (tokens.empty()) fail("nothing stands before '='", equals.column);
  if (is_definition(tokens, options, formula.text)) return;
  const std::size_t first = tokens.front().column;
  tokens.push_back({Symbol::end, {}, equals.column, 0});
  const FormulaNames names{&options, true, &formula.parameters};
  formula.response_steps = parse_expression(formula.text, tokens, names);
  const bool has_response = std::ranges::any_of(formula.response_steps, [&](const FormulaStep& step) {
    return step.op == Op::column && step.index == options.predictors.size();
  });
  if (!has_response)
    fail(fmt::format("the left side does not contain the response '{}'", options.response), first);
  // `y = a*x` is `a*x`.
  formula.has_left_side = formula.response_steps.size() > 1;
  if (!formula.has_left_side) formula.response_steps.clear();
}

}  // namespace

Formula parse_formula(std::string_view text, const FormulaOptions& options) {
  check_options(options);
  if (text.size() > options.limits.max_length) {
    throw FormulaError(
        fmt::format("the formula has {} bytes; at most {} are read", text.size(), options.limits.max_length),
        std::string(text.substr(0, 60)), 0);
  }
  Formula formula;
  formula.text = std::string(text);
  formula.predictors = options.predictors;
  const std::vector<Token> tokens = tokenize(formula.text);
  const std::size_t equals = find_equals(tokens, formula.text);
  std::span<const Token> right(tokens);
  if (equals < tokens.size()) {
    parse_left_side(formula, {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(equals)},
                    tokens[equals], options);
    right = right.subspan(equals + 1);
    if (right.front().symbol == Symbol::end) {
      throw FormulaError("nothing stands after '='", formula.text, right.front().column);
    }
  }
  formula.replace_model(parse_expression(formula.text, right, {&options, false, &formula.parameters}));
  return formula;
}

void Formula::replace_model(std::vector<FormulaStep> with) {
  steps = std::move(with);
  graph = {};
  model = build_graph(graph, steps);
  response =
      has_left_side ? build_graph(graph, response_steps) : graph.column(static_cast<int>(predictors.size()));
}

void check_counts(const Formula& formula, std::size_t predictors, std::size_t parameters) {
  if (predictors >= formula.predictors.size() && parameters >= formula.parameters.size()) return;
  throw ValidationError(fmt::format("'{}' needs {} predictors and {} parameters, not {} and {}", formula.text,
                                    formula.predictors.size(), formula.parameters.size(), predictors,
                                    parameters));
}

void check_counts(const Formula& formula, std::size_t predictors) {
  if (predictors >= formula.predictors.size()) return;
  throw ValidationError(
      fmt::format("'{}' needs {} predictors, not {}", formula.text, formula.predictors.size(), predictors));
}

double Formula::evaluate(std::span<const double> x, std::span<const double> p) const {
  check_counts(*this, x.size(), p.size());
  return evaluate_steps(steps, x.first(predictors.size()), 0, p);
}

double Formula::evaluate_response(std::span<const double> x, double y) const {
  if (!has_left_side) return y;
  check_counts(*this, x.size());
  return evaluate_steps(response_steps, x.first(predictors.size()), y, {});
}

}  // namespace nlsq::inline v0

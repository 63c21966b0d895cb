// Reads names in texts that users write, suggests names, and parses expressions of parameters alone.
#include "expression/names.hpp"

#include "expression/graph_walk.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace nlsq::inline v0 {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text) noexcept {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view tied_name(std::string_view tie) { return trimmed(tie.substr(0, tie.find('='))); }

bool is_tied(std::span<const std::string> ties, std::string_view name) {
  return std::ranges::find(ties, name, tied_name) != ties.end();
}

// Computes the distance row by row, and keeps one row of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t swap = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({swap, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

ParameterExpression parameter_expression(std::string_view text, const std::string& what) {
  FormulaOptions options;
  options.predictors.clear();
  options.response.clear();
  ParameterExpression out;
  try {
    out.formula = parse_formula(std::string(trimmed(text)), options);
  } catch (const Error& e) {
    throw ValidationError(fmt::format("{}: {}", what, e.what()));
  }
  out.derivatives =
      differentiate(out.formula.graph, out.formula.model, all_parameters(out.formula.parameters.size()));
  return out;
}

std::vector<int> all_parameters(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

FormulaStep parameter_step(std::size_t parameter) {
  return {.op = Op::parameter, .index = static_cast<std::uint32_t>(parameter)};
}

std::vector<FormulaStep> with_replaced_parameters(
    const std::vector<FormulaStep>& steps,
    const std::function<std::vector<FormulaStep>(std::size_t)>& replacement) {
  std::vector<FormulaStep> out;
  for (const FormulaStep& step : steps) {
    if (step.compound == CompoundFunction::none && step.op == Op::parameter) {
      const std::vector<FormulaStep> instead = replacement(step.index);
      out.insert(out.end(), instead.begin(), instead.end());
    } else {
      out.push_back(step);
    }
  }
  return out;
}

// Lists the steps backwards at first: each node comes before the steps of its operands, the last operand
// first.
std::optional<std::vector<FormulaStep>> steps_of(const Graph& graph, NodeId root, std::size_t most) {
  std::vector<FormulaStep> steps;
  std::vector<NodeId> open{root};
  while (!open.empty()) {
    const Node& node = graph[open.back()];
    open.pop_back();
    if (steps.size() == most || node.op == Op::unexplored) return std::nullopt;
    steps.push_back({.op = node.op, .index = node.index, .value = node.value});
    for (const NodeId operand : Operands(node)) open.push_back(operand);
  }
  std::ranges::reverse(steps);
  return steps;
}

FormulaOptions predictor_options(std::size_t predictors) {
  FormulaOptions options;
  if (predictors != 1) {
    options.predictors.clear();
    for (std::size_t k = 1; k <= predictors; ++k) options.predictors.push_back(fmt::format("x{}", k));
  }
  return options;
}

}  // namespace nlsq::inline v0

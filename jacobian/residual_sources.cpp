#include <nlsq/local_buffer.hpp>
#include <nlsq/residual_sources.hpp>

#include <cmath>
#include <numeric>

namespace nlsq::inline v0 {

NodeId import(Graph& to, const Graph& from, NodeId root) {
  std::vector<std::uint8_t> needed(root + 1, 0);
  needed[root] = 1;
  for (NodeId id = root + 1; id-- > 0;) {
    if (!needed[id]) continue;
    const Node& node = from[id];
    const int operands = arity(node.op);
    if (operands > 0) needed[node.a] = 1;
    if (operands > 1) needed[node.b] = 1;
    if (operands > 2) needed[node.c] = 1;
  }
  std::vector<NodeId> copy(root + 1, 0);
  for (NodeId id = 0; id <= root; ++id) {
    if (!needed[id]) continue;
    const Node& node = from[id];
    switch (node.op) {
      case Op::constant: copy[id] = to.constant(node.value); break;
      case Op::column: copy[id] = to.column(static_cast<int>(node.index)); break;
      case Op::parameter: copy[id] = to.parameter(static_cast<int>(node.index)); break;
      default: copy[id] = to.make(node.op, copy[node.a], copy[node.b], copy[node.c]);
    }
  }
  return copy[root];
}

namespace {

// (model - response) / sigma, the quotient as a product: its derivatives need no division.
NodeId weigh(Graph& graph, NodeId difference, int sigma_column, bool weighted) {
  if (!weighted) return difference;
  return graph.mul(difference, graph.div(graph.constant(1), graph.column(sigma_column)));
}

double weighted_residual(double f, double y, const double* sigma, double& magnitude) {
  const double weight = sigma != nullptr ? 1 / *sigma : 1;
  magnitude = (std::fabs(f) + std::fabs(y)) * weight;
  return (f - y) * weight;
}

}  // namespace

NodeId FormulaResidual::build(Graph& graph) const {
  const int predictors = static_cast<int>(formula_.predictors.size());
  const NodeId model = import(graph, formula_.graph, formula_.model);
  const NodeId response = import(graph, formula_.graph, formula_.response);
  return weigh(graph, graph.sub(model, response), predictors + 1, weighted_);
}

double FormulaResidual::reference(std::span<const double> row, std::span<const double> p, double& magnitude) const {
  const std::size_t k = formula_.predictors.size();
  const double f = formula_.evaluate(row.first(k), p);
  const double y = formula_.evaluate_response(row.first(k), row[k]);
  return weighted_residual(f, y, weighted_ ? &row[k + 1] : nullptr, magnitude);
}

void FormulaResidual::reference_rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                                     double* residuals, double* magnitudes) const {
  const std::size_t k = formula_.predictors.size();
  formula_.evaluate_rows(columns.first(k), p, count, residuals);
  const double* y = columns[k];
  LocalBuffer<double, 64> response(formula_.has_left_side ? count : 0);
  if (formula_.has_left_side) {
    formula_.evaluate_response_rows(columns.first(k), y, count, response.data());
    y = response.data();
  }
  if (weighted_) {
    const double* sigma = columns[k + 1];
    for (std::size_t i = 0; i < count; ++i) residuals[i] = weighted_residual(residuals[i], y[i], &sigma[i], magnitudes[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) residuals[i] = weighted_residual(residuals[i], y[i], nullptr, magnitudes[i]);
  }
}

RecordedResidual::RecordedResidual(ModelFunction function, int parameters, bool weighted)
    : function_(std::move(function)), parameters_(parameters), weighted_(weighted), family_(function_, parameters) {}

NodeId RecordedResidual::build(Graph& graph) const {
  const NodeId model = family_.build(graph);
  return weigh(graph, graph.sub(model, graph.column(function_.predictors)), function_.predictors + 1, weighted_);
}

NodeId RecordedResidual::build_explored(Graph& graph, bool& known) const {
  const NodeId explored = family_.build_explored(graph);
  known = graph.is_constant(explored, 1);
  return explored;
}

bool RecordedResidual::explore(std::span<const double> row, std::span<const double> p) {
  const std::span<const double> x = row.first(static_cast<std::size_t>(function_.predictors));
  if (family_.record(x, p) != TraceFamily::Outcome::added) {
    reason_ = family_.reason();
    return false;
  }
  if (!function_.dual) return true;
  Graph graph;
  const NodeId value = family_.build(graph);
  std::vector<int> all(static_cast<std::size_t>(parameters_));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<NodeId> derivatives = differentiate(graph, value, all);
  if (agrees_with_dual(graph, value, derivatives, function_, x, p)) return true;
  reason_ = "the recording disagrees with dual numbers";
  return false;
}

double RecordedResidual::reference(std::span<const double> row, std::span<const double> p, double& magnitude) const {
  const auto k = static_cast<std::size_t>(function_.predictors);
  const double f = function_.value(row.data(), p);
  return weighted_residual(f, row[k], weighted_ ? &row[k + 1] : nullptr, magnitude);
}

}  // namespace nlsq::inline v0

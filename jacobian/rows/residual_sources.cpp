// Builds residual graphs of typed formulas and of recorded callables.
#include "rows/residual_sources.hpp"

#include "expression/graph_walk.hpp"
#include "expression/names.hpp"
#include "program/local_buffer.hpp"
#include "rows/rows_value.hpp"

#include <cmath>

namespace nlsq::inline v0 {

NodeId import(Graph& to, const Graph& from, NodeId root) {
  const std::vector<std::uint8_t> needed = needed_for(from, root);
  std::vector<NodeId> copy(root + 1, 0);
  for (NodeId id = 0; id <= root; ++id) {
    if (needed[id]) copy[id] = rebuilt(to, from[id], copy);
  }
  return copy[root];
}

namespace {

// Computes a residual and the size of its terms. `weight` is 1/sigma. Terms to which a loss gives little
// weight also contribute little rounding error.
double weighted_residual(double f, double y, double weight, const ResidualForm& form, double& magnitude) {
  magnitude = (std::fabs(f) + std::fabs(y)) * weight;
  if (form.loss.is_linear()) return (f - y) * weight;
  const FinishedNumber end = finish_residual(form.loss.is_counts() ? f : (f - y) * weight, y, form);
  magnitude *= std::fabs(end.slope);
  return end.residual;
}

// Turns values of the model into residuals. `sigma` is null if it is 1 in every row.
void weigh_rows(const double* y, const double* sigma, const ResidualForm& form, std::size_t count,
                double* residuals, double* magnitudes) {
  if (sigma == nullptr && form.loss.is_linear()) {  // a loop that vectorizes
    for (std::size_t i = 0; i < count; ++i) {
      magnitudes[i] = std::fabs(residuals[i]) + std::fabs(y[i]);
      residuals[i] -= y[i];
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    residuals[i] =
        weighted_residual(residuals[i], y[i], sigma != nullptr ? 1 / sigma[i] : 1, form, magnitudes[i]);
  }
}

// Returns 1/σ of a row with σ² = σ_y² + Σ (∂f/∂x_k)² σ_k². Columns are ordered as in the data, `slopes` as in
// the form.
double weight_of(const ResidualForm& form, int predictors, std::span<const double> row,
                 std::span<const double> slopes) {
  auto at = static_cast<std::size_t>(predictors) + 1;
  const double sigma = form.weighted ? row[at++] : form.x_errors.empty() ? 1 : 0;
  if (form.x_errors.empty()) return 1 / sigma;
  double variance = sigma * sigma;
  for (const double slope : slopes) {
    const double shift = slope * row[at++];
    variance += shift * shift;
  }
  return 1 / std::sqrt(variance);
}

// Evaluates `derivatives` at a row by a direct traversal of the graph in double.
std::vector<double> walk(const Graph& graph, const std::vector<NodeId>& derivatives,
                         std::span<const double> row, std::span<const double> p) {
  std::vector<double> slopes;
  for (const NodeId node : derivatives) slopes.push_back(evaluate(graph, node, row, p));
  return slopes;
}

}  // namespace

FormulaResidual::FormulaResidual(Formula formula, ResidualForm form)
    : formula_(std::move(formula)), form_(std::move(form)) {
  for (const int k : form_.x_errors) {  // the left side may depend on x, too
    Graph& graph = formula_.graph;
    by_predictor_.push_back(differentiate_column(graph, graph.sub(formula_.model, formula_.response), k));
  }
}

NodeId FormulaResidual::build(Graph& graph) const {
  const int predictors = static_cast<int>(formula_.predictors.size());
  const NodeId model = import(graph, formula_.graph, formula_.model);
  const NodeId response = import(graph, formula_.graph, formula_.response);
  return base_residual(graph, model, response, predictors, form_);
}

FinishedNodes FormulaResidual::finish(Graph& graph, NodeId base) const {
  return finish_residual(graph, base, import(graph, formula_.graph, formula_.response), form_);
}

double FormulaResidual::reference(std::span<const double> row, std::span<const double> p,
                                  double& magnitude) const {
  const std::size_t k = formula_.predictors.size();
  const double f = formula_.evaluate(row.first(k), p);
  const double y = formula_.evaluate_response(row.first(k), row[k]);
  const std::vector<double> slopes = walk(formula_.graph, by_predictor_, row, p);
  return weighted_residual(f, y, weight_of(form_, static_cast<int>(k), row, slopes), form_, magnitude);
}

void FormulaResidual::reference_rows(std::span<const double* const> columns, std::span<const double> p,
                                     std::size_t count, double* residuals, double* magnitudes) const {
  if (!form_.x_errors.empty())
    return ResidualSource::reference_rows(columns, p, count, residuals, magnitudes);
  const std::size_t k = formula_.predictors.size();
  formula_.evaluate_rows(columns.first(k), p, count, residuals);
  const double* y = columns[k];
  LocalBuffer<double, 64> response(formula_.has_left_side ? count : 0);
  if (formula_.has_left_side) {
    formula_.evaluate_response_rows(columns.first(k), y, count, response.data());
    y = response.data();
  }
  weigh_rows(y, form_.weighted ? columns[k + 1] : nullptr, form_, count, residuals, magnitudes);
}

RecordedResidual::RecordedResidual(ModelFunction function, int parameters, ResidualForm form)
    : function_(std::move(function)), parameters_(parameters), form_(std::move(form)),
      family_(function_, parameters) {}

NodeId RecordedResidual::build(Graph& graph) const {
  const NodeId model = family_.build(graph);
  return base_residual(graph, model, graph.column(function_.predictors), function_.predictors, form_);
}

FinishedNodes RecordedResidual::finish(Graph& graph, NodeId base) const {
  return finish_residual(graph, base, graph.column(function_.predictors), form_);
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
  const std::vector<int> all = all_parameters(static_cast<std::size_t>(parameters_));
  const std::vector<NodeId> derivatives = differentiate(graph, value, all);
  if (agrees_with_dual(graph, value, derivatives, function_, x, p)) return true;
  reason_ = "the recording disagrees with dual numbers";
  return false;
}

bool RecordedResidual::may_have_state() const { return rows_value(function_) == nullptr; }

double RecordedResidual::reference(std::span<const double> row, std::span<const double> p,
                                   double& magnitude) const {
  const auto k = static_cast<std::size_t>(function_.predictors);
  const double f = function_.value(row.data(), p);
  return weighted_residual(f, row[k], weight_of(form_, function_.predictors, row, {}), form_, magnitude);
}

void RecordedResidual::reference_rows(std::span<const double* const> columns, std::span<const double> p,
                                      std::size_t count, double* residuals, double* magnitudes) const {
  const auto k = static_cast<std::size_t>(function_.predictors);
  if (form_.x_errors.empty()) {
    const RowsValue* const model = rows_value(function_);
    if (model == nullptr) return ResidualSource::reference_rows(columns, p, count, residuals, magnitudes);
    model->rows(columns.first(k), p, count, residuals);
    return weigh_rows(columns[k], form_.weighted ? columns[k + 1] : nullptr, form_, count, residuals,
                      magnitudes);
  }
  Graph graph;
  const NodeId model = family_.build(graph);
  std::vector<NodeId> by_predictor;
  for (const int c : form_.x_errors) by_predictor.push_back(differentiate_column(graph, model, c));
  std::vector<double> row(columns.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = columns[c][i];
    const double weight = weight_of(form_, function_.predictors, row, walk(graph, by_predictor, row, p));
    residuals[i] = weighted_residual(function_.value(row.data(), p), row[k], weight, form_, magnitudes[i]);
  }
}

}  // namespace nlsq::inline v0

// Builds residuals of curves as graphs: (model - response) / sigma with a loss applied, for a typed formula
// or a recorded callable. residual_form.hpp describes the data columns. GraphRows evaluates them.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/formula.hpp>
#include "recording/trace.hpp"
#include "rows/graph_rows.hpp"

#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Copies `root` and all nodes that it depends on into another graph.
NLSQ_API NodeId import(Graph& to, const Graph& from, NodeId root);

class NLSQ_API FormulaResidual final : public ResidualSource {
 public:
  FormulaResidual(Formula formula, ResidualForm form);
  NodeId build(Graph& graph) const override;
  FinishedNodes finish(Graph& graph, NodeId base) const override;
  int extra_columns() const override { return form_.extra_columns(); }
  const Loss* robust_loss() const override { return form_.minimized_loss(); }
  int response_column() const override { return static_cast<int>(formula_.predictors.size()); }
  bool weighted() const override { return form_.weighted; }
  bool may_have_state() const override { return false; }
  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override;
  void reference_rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                      double* residuals, double* magnitudes) const override;

 private:
  Formula formula_;
  ResidualForm form_;
  std::vector<NodeId> by_predictor_;  // ∂f/∂x for the predictors in form_.x_errors
};

// This is the residual of a recorded callable. The values and derivatives of every program are checked once
// against dual numbers.
class NLSQ_API RecordedResidual final : public ResidualSource {
 public:
  RecordedResidual(ModelFunction function, int parameters, ResidualForm form);
  // Copies what has been recorded so far, for rows of another form.
  RecordedResidual(const RecordedResidual& recorded, ResidualForm form) : RecordedResidual(recorded) {
    form_ = std::move(form);
  }
  NodeId build(Graph& graph) const override;
  FinishedNodes finish(Graph& graph, NodeId base) const override;
  int extra_columns() const override { return form_.extra_columns(); }
  const Loss* robust_loss() const override { return form_.minimized_loss(); }
  int response_column() const override { return function_.predictors; }
  bool weighted() const override { return form_.weighted; }
  NodeId build_explored(Graph& graph, bool& known) const override;
  bool explore(std::span<const double> row, std::span<const double> p) override;
  bool may_have_state() const override;
  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override;
  void reference_rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                      double* residuals, double* magnitudes) const override;
  // Builds the model alone, for the search of linear parameters.
  NodeId build_model(Graph& graph) const { return family_.build(graph); }
  const std::string& reason() const { return reason_; }

 private:
  ModelFunction function_;
  int parameters_;
  ResidualForm form_;
  TraceFamily family_;
  std::string reason_;
};

}  // namespace nlsq::inline v0
